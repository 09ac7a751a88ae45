// SPDX-License-Identifier: Apache-2.0
// Guests: the service that daemons of other servers call.
//
// A guest is one life of another daemon, known by a token. It lives while its Watch call is open: when that
// ends, by whatever (the daemon ended, the machine vanished, a stop longer than the keepalive), what it held
// is taken back, and its token is never good again.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/ids.h"
#include "fabric.grpc.pb.h"
#include "fabricd/exports.h"

namespace plat::fabricd {

inline constexpr uint32_t kFabricVersion = 1;

struct Self {
  uint32_t server = 0;
  std::string node;
  uint64_t incarnation = 0;
};

class Guests final : public rpc::Fabric::WithCallbackMethod_Watch<rpc::Fabric::Service> {
 public:
  Guests(Self self, Exports& exports, Target& target)
      : self_(std::move(self)), exports_(exports), target_(target) {}

  grpc::Status Hello(grpc::ServerContext* context, const rpc::HelloRequest* request,
                     rpc::HelloReply* reply) override;
  grpc::ServerWriteReactor<rpc::WatchReply>* Watch(grpc::CallbackServerContext* context,
                                                   const rpc::WatchRequest* request) override;
  grpc::Status Import(grpc::ServerContext* context, const rpc::ImportRequest* request,
                      rpc::ImportReply* reply) override;
  grpc::Status Release(grpc::ServerContext* context, const rpc::ReleaseRequest* request,
                       rpc::Reply* reply) override;
  grpc::Status OpenData(grpc::ServerContext* context, const rpc::OpenDataRequest* request,
                        rpc::OpenDataReply* reply) override;
  grpc::Status CutData(grpc::ServerContext* context, const rpc::CutDataRequest* request,
                       rpc::Reply* reply) override;

  struct Seen {
    uint32_t server = 0;
    std::string node;
    size_t connections = 0;
    std::map<device::BankId, Exports::Count> held;
  };
  std::vector<Seen> seen();
  void leave(Guest guest);
  // Whether there is none, and none has come since this was asked last; but for some that said hello long ago
  // and nothing else: those it forgets.
  bool are_gone();

 private:
  struct Known {
    uint32_t server = 0;
    std::string node;
    bool watched = false;
    uint32_t calls = 0;  // that are at work for it
    bool leaving = false;
  };
  // Keeps what a guest holds from being taken back while a call of its own is at work.
  class Call {
   public:
    Call(Guests& guests, Guest guest);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();
    explicit operator bool() const { return good_; }

   private:
    Guests& guests_;
    Guest guest_;
    bool good_ = false;
  };
  void drop(Guest guest);

  const Self self_;
  Exports& exports_;
  Target& target_;
  std::mutex mutex_;
  std::map<Guest, Known> guests_;
  bool somebody_came_ = false;
};

}  // namespace plat::fabricd
