// Gate: where host threads wait for a stream. Passing it costs the stream one load while nobody waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "stream/ids.h"
#include "stream/relax.h"

namespace plat::stream {

class Gate {
 public:
  // After the change that a waiter's condition reads, with sequentially consistent accesses on both sides.
  void notify() {
    if (waiters_.load() == 0) return;
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  // False when the deadline passed first. `looks`: how often to look before sleeping; work is often shorter
  // than a sleep.
  template <class Condition>
  bool wait(const Condition& condition, Deadline deadline, int looks = 1) {
    for (; looks > 0; --looks) {
      if (condition()) return true;
      if (looks > 1) relax();
    }
    ++waiters_;
    std::unique_lock lock(mutex_);
    bool held = true;
    if (deadline) {
      held = changed_.wait_until(lock, *deadline, condition);
    } else {
      changed_.wait(lock, condition);
    }
    --waiters_;
    return held;
  }

 private:
  std::atomic<int> waiters_{0};
  std::mutex mutex_;  // guards nothing but the sleep itself
  std::condition_variable changed_;
};

}  // namespace plat::stream
