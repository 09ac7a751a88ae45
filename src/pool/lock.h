// SPDX-License-Identifier: Apache-2.0
// SpinLock: for sections of a few dozen nanoseconds. One atomic exchange to take it, one store to leave it,
// which is half of what a futex-based mutex costs when nobody else wants it.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/relax.h"

namespace plat::pool {

class SpinLock {
 public:
  void lock() {
    if (!taken_.exchange(true, std::memory_order_acquire)) return;
    wait();
  }
  // Loads without an exchange are relaxed: they say whether it is worth trying, and no more. Who reads that
  // the lock is free has it by the exchange that follows, which acquires; who reads that it is taken, though
  // it is not any more, gives up, or waits for one more turn.
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() {
    do {
      for (int spin = 0; taken_.load(std::memory_order_relaxed); ++spin) {
        // The holder may have been preempted, or is mapping pages: let it run.
        if (spin >= kSpins) sched_yield();
        relax();
      }
    } while (taken_.exchange(true, std::memory_order_acquire));
  }
  static constexpr int kSpins = 100;
  std::atomic<bool> taken_{false};
};

}  // namespace plat::pool
