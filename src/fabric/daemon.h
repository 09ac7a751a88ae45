// SPDX-License-Identifier: Apache-2.0
// Daemon: this process's side of the talk with the fabric daemon of its server.
//
// Nothing happens before the first import. Then one connection is the process's session, and asks. Others, at
// most one for each import and for each copy that runs at the same moment, ask too or move memory through
// buffers that they share with the daemon. The daemon never touches memory of the program. What was imported
// belongs to this life of the daemon: when it ends, so do all imports. No thread; calls wait at most for the
// deadline.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fabric/deadline.h"
#include "fabric/message.h"
#include "os/file.h"
#include "os/lookout.h"
#include "vmm/remote.h"

namespace plat::fabric {

inline constexpr uint32_t kDefaultDeadlineMs = 10000;

// The rule that an import breaks for this cause.
RuleId import_rule(Cause cause);

class Daemon : public std::enable_shared_from_this<Daemon> {
 public:
  struct Where {
    std::string socket;  // path
    uint32_t deadline_ms = kDefaultDeadlineMs;
  };
  static Result<std::shared_ptr<Daemon>> connect(const Where& where, const Deadline& deadline);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  // Whether it answered so far.
  bool is_alive() const { return alive_.load(std::memory_order_acquire); }

  struct Wanted {
    uint32_t server = 0;
    uint64_t share = 0;
    uint64_t secret = 0;
  };
  Result<Reply> import(const Wanted& wanted, const Deadline& deadline);
  void release(uint64_t import);
  Result<> write(uint64_t import, uint64_t offset, uint64_t size_bytes, const vmm::Remote::Source& source);
  Result<> read(uint64_t import, uint64_t offset, uint64_t size_bytes, const vmm::Remote::Sink& sink);

  // After fork: the connections are the parent's. Async-signal-safe.
  void abandon_in_child();

 private:
  explicit Daemon(Where where) : where_(std::move(where)) {}

  // One connection that moves memory.
  struct Channel {
    os::Fd socket;
    std::byte* buffers = nullptr;
    os::Lookout answers;
    uint64_t given_up_before = 0;
    ~Channel();
  };
  class Copy;  // one on its way, with a channel for as long as it takes
  Result<std::unique_ptr<Channel>> open_channel(const Deadline& deadline);
  Result<std::unique_ptr<Channel>> take_channel(const Deadline& deadline);
  void give_back(std::unique_ptr<Channel> channel);
  // A copy that the daemon may still have to do. It ends that before it serves a new connection, so the next
  // copies use no older one.
  void note_given_up();
  Result<Reply> ask(Request& request, const Deadline& deadline);
  Result<Reply> ask_at(int socket, Request& request, const Deadline& deadline);
  // Another connection that asks; none where the daemon gives none.
  os::Fd take_asker(const Deadline& deadline);
  void give_back(os::Fd asker);
  Error lost(RuleId rule, std::string_view doing);
  Error silent(uint32_t waited_ms);
  // So that a child can close them without any lock.
  void remember(int socket);
  void forget(int socket);

  const Where where_;
  int32_t pid_ = 0;  // of the daemon, for messages
  uint64_t session_ = 0;
  std::atomic<bool> alive_{true};
  std::atomic<bool> silent_{false};  // it is taken for dead because it did not answer
  std::timed_mutex asking_;          // held while the session's own connection asks
  os::Fd socket_;
  std::mutex mutex_;  // guards the connections that nobody uses
  std::vector<std::unique_ptr<Channel>> idle_;
  std::vector<os::Fd> idle_askers_;
  std::atomic<uint64_t> given_up_{0};  // copies; changed with the mutex held
  static constexpr size_t kMaxSockets = 256;
  std::array<std::atomic<int>, kMaxSockets> sockets_{};  // number + 1
};

}  // namespace plat::fabric
