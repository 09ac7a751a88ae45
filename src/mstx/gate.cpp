// SPDX-License-Identifier: Apache-2.0
#include "mstx/gate.h"

#include <chrono>
#include <thread>

namespace plat::mstx {

constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec"))){};

Counter& Counters::mine() {
  static std::atomic<uint32_t> threads{0};
  uint32_t& stripe = this_thread().stripe;
  if (stripe == 0) stripe = threads.fetch_add(1, std::memory_order_relaxed) % stripes_.size() + 1;
  return stripes_[stripe - 1].count;
}

// A tool may be slow, so waiting gives up the processor and soon sleeps.
void Counters::wait_for_none() {
  for (Stripe& stripe : stripes_) {
    for (int turn = 0; stripe.count.load(std::memory_order_seq_cst) != 0; ++turn) {
      if (turn < 64)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

void ReadSections::enter(Passage& reading) {
  if (reading.nesting++ != 0) return;
  reading.counter = &sets_[epoch_.load(std::memory_order_relaxed) & 1].mine();
  // Sequentially consistent, as is the store that publishes tools: either the publisher sees this section, or
  // this section sees what was published.
  reading.counter->fetch_add(1, std::memory_order_seq_cst);
}

void ReadSections::wait_for_all() {
  for (int turn = 0; turn < 2; ++turn)
    sets_[epoch_.fetch_xor(1, std::memory_order_seq_cst) & 1].wait_for_none();
}

void Gate::enter(Passage& changing) {
  if (changing.nesting++ != 0) return;
  changing.counter = &past_.mine();
  for (;;) {
    changing.counter->fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return;
    changing.counter->fetch_sub(1, std::memory_order_release);
    closed_.wait(true, std::memory_order_acquire);
  }
}

void Gate::lock() {
  closed_.store(true, std::memory_order_seq_cst);
  past_.wait_for_none();
  this_thread().changing = {1, nullptr};  // what it calls now is not counted
}

void Gate::unlock() {
  this_thread().changing = {};
  closed_.store(false, std::memory_order_seq_cst);
  closed_.notify_all();
}

}  // namespace plat::mstx
