// SPDX-License-Identifier: Apache-2.0
// CallGate: holds up the calls of all threads but one while the process is locked for a snapshot.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "device/report.h"

namespace plat::acl {

class CallGate {
 public:
  static CallGate& instance();

  // Asked by every call once it has announced itself: one load.
  static bool is_closed() { return closed_.load(kLook); }
  // Waits until the gate is open, unless the call is made inside another one, by the thread that closed it,
  // or is one that goes on.
  void pass(const report::CallScope& scope, const char* function);

  // Whether the system can tell where threads are.
  static bool can_close();
  // Closes the gate, and waits until other threads are in no call that it holds up and `settle` has found
  // nothing that goes on without them. False, and open again, when the deadline passed first.
  bool close(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& settle);
  void open();
  // In a forked child.
  static void reset();

 private:
#if defined(__SANITIZE_THREAD__)
  static constexpr std::memory_order kLook = std::memory_order_seq_cst;
#else
  static constexpr std::memory_order kLook = std::memory_order_relaxed;
#endif
  static inline std::atomic<bool> closed_{false};

  std::mutex mutex_;  // guards owner_, and changes of closed_
  std::condition_variable opened_;
  std::thread::id owner_;
};

// Plain questions, callbacks that a thread waits for, and snapshots themselves are not held up.
bool goes_on_while_locked(const char* function);

}  // namespace plat::acl
