// SPDX-License-Identifier: Apache-2.0
// Gate: where host threads wait for a stream. Passing it costs the stream one load while nobody waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/relax.h"
#include "stream/ids.h"

namespace plat::stream {

class Gate {
 public:
  // After the change that a waiter's condition reads, with sequentially consistent accesses on both sides.
  void notify() {
    if (waiters_.load() == 0) return;
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  // Looks so often without sleeping; work is often shorter than a sleep.
  template <class Condition>
  bool watch(const Condition& condition, int looks) {
    if (condition()) return true;
    const Counted watcher(watchers_);
    for (; looks > 1; --looks) {
      relax();
      if (condition()) return true;
    }
    return false;
  }

  // False when the deadline passed first.
  template <class Condition>
  bool wait(const Condition& condition, Deadline deadline) {
    if (condition()) return true;
    const Counted watcher(watchers_);
    const Counted waiter(waiters_);
    std::unique_lock lock(mutex_);
    if (deadline) return changed_.wait_until(lock, *deadline, condition);
    changed_.wait(lock, condition);
    return true;
  }

  // Whether anybody waits, asleep or not.
  bool is_watched() const { return watchers_.load(std::memory_order_relaxed) > 0; }

 private:
  struct Counted {
    explicit Counted(std::atomic<int>& counter) : count(counter) { ++count; }
    ~Counted() { --count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<int>& count;
  };

  std::atomic<int> watchers_{0};
  std::atomic<int> waiters_{0};  // those of them that sleep, or are about to
  std::mutex mutex_;             // guards nothing but the sleep itself
  std::condition_variable changed_;
};

}  // namespace plat::stream
