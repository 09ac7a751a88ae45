// SPDX-License-Identifier: Apache-2.0
// Sessions: the processes of this server that use memory of others.
//
// A process has one connection that asks (its end is the end of the session: the process died, or was
// killed, and all it imported is released) and further ones that ask at the same time, or move memory with
// buffers of their own. Each is served by a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/wire.h"
#include "fabricd/peers.h"
#include "os/file.h"

namespace plat::fabricd {

// Memory that a process has imported. The other server hears that it is over when nobody moves bytes for it
// any more: from then on it may be somebody else's.
struct Imported {
  Imported(std::shared_ptr<Peer> granter, const rpc::ImportReply& granted)
      : peer(std::move(granter)),
        import(granted.import()),
        size_bytes(granted.size_bytes()),
        key(granted.key()),
        base(granted.base()) {}
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;
  ~Imported() { peer->release(import); }

  const std::shared_ptr<Peer> peer;
  const uint64_t import;  // as the peer calls it
  const uint64_t size_bytes;
  const uint64_t key;
  const uint64_t base;
};
using ImportedPtr = std::shared_ptr<const Imported>;

class Session {
 public:
  Session(uint64_t id, int32_t pid) : id_(id), pid_(pid) {}

  uint64_t id() const { return id_; }
  int32_t pid() const { return pid_; }

  Outcome<fabric::Reply> import(Peers& peers, const fabric::Request& request);
  Outcome<> release(uint64_t import);
  Outcome<ImportedPtr> find(uint64_t import);

  // A further connection comes and goes. False: the session has ended.
  bool add_channel(int socket);
  void remove_channel(int socket);
  bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  // Waits for the channels, and gives everything back.
  void end();

  struct Seen {
    int32_t pid = 0;
    std::string name;
    uint64_t imports = 0;
    uint64_t bytes = 0;
  };
  Seen seen();

 private:
  const uint64_t id_;
  const int32_t pid_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> channels_;
  std::map<uint64_t, ImportedPtr> imports_;
  uint64_t next_ = 1;
};

class Sessions {
 public:
  // Makes of the processes what a question for the status is answered with.
  using Status = std::function<std::string(const std::vector<Session::Seen>&)>;
  Sessions(Peers& peers, Status status) : peers_(peers), status_(std::move(status)) {}

  // Serves processes for ever.
  void serve(int listener);

 private:
  // A connection that is served.
  struct Served {
    Served(Sessions& sessions, int socket, int32_t pid);
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;
    ~Served();
    Sessions& owner;
    const int number;
  };
  void serve_one(os::Fd socket);
  void ask(int socket, int process, const std::shared_ptr<Session>& session);
  std::shared_ptr<Session> find(uint64_t id, int32_t pid);
  std::vector<Session::Seen> seen();

  Peers& peers_;
  const Status status_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<uint64_t, std::shared_ptr<Session>> sessions_;
  std::map<int, int32_t> served_;  // sockets, and whose they are
};

}  // namespace plat::fabricd
