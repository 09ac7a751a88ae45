// SPDX-License-Identifier: Apache-2.0
// Target: the side of a data connection that has the memory.
//
// Whoever connects shows a ticket first; without a good one no endpoint is made and nothing that follows is
// read. Two threads: one hears of connections, one lets libfabric move bytes. Closing an endpoint stops its
// writes; taking memory back does not, so endpoints go first.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "fabricd/provider.h"

namespace plat::fabricd {

using Guest = uint64_t;  // who imports: the token of another server's daemon

class Target {
 public:
  static Outcome<std::unique_ptr<Target>> listen(const std::string& host);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  uint32_t port() const { return port_; }

  struct Registered {
    Fid<fid_mr> memory;
    uint64_t key = 0;
    uint64_t base = 0;
  };
  Outcome<Registered> offer(std::byte* start, uint64_t size_bytes);

  // A ticket for one connection, good once, while the guest has fewer than `most`.
  Outcome<Opening> expect(Guest guest, size_t most);
  // After these nothing of the connection, or of any of the guest's, lands any more.
  void cut(Guest guest, uint64_t connection);
  void cut_all(Guest guest);
  size_t connections(Guest guest);

 private:
  Target() = default;
  void hear();
  void move();
  void accept(fi_info* request, const Opening& opening);
  void forget(fid_t endpoint);

  struct Connection {
    Guest guest = 0;
    std::array<uint8_t, 32> ticket{};
    Fid<fid_ep> endpoint;  // none: not connected yet
  };

  Adapter adapter_;
  Fid<fid_pep> listener_;
  uint32_t port_ = 0;
  std::mutex mutex_;  // guards what follows; held while an endpoint closes, so that closed means closed
  std::map<uint64_t, Connection> connections_;
  uint64_t next_ = 1;
};

}  // namespace plat::fabricd
