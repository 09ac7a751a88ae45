// SPDX-License-Identifier: Apache-2.0
// Peers: the other servers, as this one calls them.
//
// A Peer is one life of another daemon. When its Watch call ends it is dead for good: what was imported from
// it answers with an error for ever, and the next import makes the acquaintance of whoever is there now. One
// that nobody uses is left after a while, and nothing of gRPC stays behind a peer that is dead: both would
// wake this daemon, and that of the other server, several times a second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fabric.grpc.pb.h"
#include "fabric/deadline.h"
#include "fabricd/guests.h"
#include "fabricd/keys.h"
#include "fabricd/link.h"
#include "fabricd/table.h"

namespace plat::fabricd {

class Peer {
 public:
  static Outcome<std::shared_ptr<Peer>> meet(const Self& self, const Keys& keys, uint32_t server,
                                             const ServerAddress& address, uint32_t deadline_ms);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  bool is_alive() const { return alive_.load(std::memory_order_acquire); }
  // "server 3 (host:port, node b), last heard of 2.1 s ago"
  std::string describe() const;
  uint32_t server() const { return server_; }

  Outcome<rpc::ImportReply> import(uint64_t share, uint64_t secret, uint32_t deadline_ms);
  // False when it did not answer.
  bool release(uint64_t import);

  struct Connection {
    std::unique_ptr<Link> link;
    uint64_t number = 0;
  };
  Outcome<Connection> connect(Link::Memory memory, const fabric::Deadline& deadline);
  // After it nothing that was under way lands there any more: if it cannot be told to stop, it is left, and
  // stops by itself.
  void cut(uint64_t connection);
  // Ends the acquaintance; it takes back all that was imported.
  void leave();

  void count(uint64_t bytes, bool is_write) {
    (is_write ? written_ : read_).fetch_add(bytes, std::memory_order_relaxed);
    heard();
  }
  struct Seen {
    uint32_t server = 0;
    std::string address;
    std::string node;
    bool connected = false;
    double heard_seconds = 0;  // since then
    uint64_t written_bytes = 0;
    uint64_t read_bytes = 0;
  };
  Seen seen() const;

 private:
  // What leads there. A channel tries to reach the other side again and again, so it goes with the peer's
  // life; calls that are under way keep it until they are over.
  struct Line {
    std::unique_ptr<rpc::Fabric::Stub> stub;
    grpc::ClientContext watching;
    std::unique_ptr<grpc::ClientReader<rpc::WatchReply>> watch;
  };
  Peer() = default;
  // None: the peer is dead.
  std::shared_ptr<Line> line() const;
  void watch();
  void heard();
  double heard_seconds() const;
  // Of a call that failed.
  Trouble explain(const grpc::Status& status, uint32_t deadline_ms) const;
  Trouble dead() const;

  uint32_t server_ = 0;
  ServerAddress address_;
  std::string node_;
  uint64_t token_ = 0;
  uint32_t data_port_ = 0;
  mutable std::mutex mutex_;  // guards the two that follow
  std::shared_ptr<Line> line_;
  bool is_watched_ = false;  // it has answered: from then on it keeps things for us
  std::condition_variable changed_;
  std::thread watcher_;
  std::atomic<bool> alive_{false};
  std::atomic<uint64_t> heard_ns_{0};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> read_{0};
};

class Peers {
 public:
  Peers(Self self, std::string keys, Table table)
      : self_(std::move(self)), keys_(std::move(keys)), table_(std::move(table)) {}

  Outcome<std::shared_ptr<Peer>> reach(uint32_t server, uint32_t deadline_ms);
  std::vector<Peer::Seen> seen();
  // For ever: leaves those that nobody has used since it looked last.
  void tidy();

 private:
  struct Known {
    std::timed_mutex meeting;  // held while it is called for the first time
    std::shared_ptr<Peer> peer;
    bool was_idle = false;
  };

  const Self self_;
  const std::string keys_;  // directory; read at every meeting, so that new certificates count
  const Table table_;
  std::mutex mutex_;  // guards the map, and what is in it
  std::condition_variable met_;
  std::map<uint32_t, Known> known_;
};

}  // namespace plat::fabricd
