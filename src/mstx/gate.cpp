// SPDX-License-Identifier: Apache-2.0
#include "mstx/gate.h"

#include <chrono>
#include <thread>

namespace plat::mstx {
namespace {

// A tool may be slow, so waiting gives up the processor and soon sleeps.
template <class Condition>
void wait_until(Condition&& condition) {
  for (int turn = 0; !condition(); ++turn) {
    if (turn < 64)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

uint32_t stripe_of(ThreadState& thread, uint32_t stripes) {
  static std::atomic<uint32_t> threads{0};
  if (thread.stripe == 0) thread.stripe = threads.fetch_add(1, std::memory_order_relaxed) % stripes + 1;
  return thread.stripe - 1;
}

}  // namespace

ThreadState& this_thread() {
  // Initial-exec: these few bytes fit the reserve of loaders, and a call must not pay for a lookup.
  __attribute__((tls_model("initial-exec"))) static constinit thread_local ThreadState state{};
  return state;
}

void ReadSections::enter(ThreadState& thread) {
  if (thread.reading++ != 0) return;
  const uint32_t set = epoch_.load(std::memory_order_relaxed) & 1;
  thread.read_counter = &sets_[set][stripe_of(thread, kStripes)].open;
  // Sequentially consistent, as is the store that publishes tools: either the publisher sees this section, or
  // this section sees what was published.
  thread.read_counter->fetch_add(1, std::memory_order_seq_cst);
}

void ReadSections::leave(ThreadState& thread) {
  if (--thread.reading == 0) thread.read_counter->fetch_sub(1, std::memory_order_release);
}

void ReadSections::drain(uint32_t set) {
  for (Stripe& stripe : sets_[set])
    wait_until([&] { return stripe.open.load(std::memory_order_seq_cst) == 0; });
}

void ReadSections::wait_for_all() {
  for (int turn = 0; turn < 2; ++turn) drain(epoch_.fetch_xor(1, std::memory_order_seq_cst) & 1);
}

void ReadSections::only_this_thread(ThreadState& thread) {
  for (auto& set : sets_)
    for (Stripe& stripe : set) stripe.open.store(0, std::memory_order_relaxed);
  if (thread.reading != 0) thread.read_counter->store(1, std::memory_order_relaxed);
}

void Gate::enter(ThreadState& thread) {
  if (thread.changing++ != 0) return;
  thread.change_counter = &stripes_[stripe_of(thread, kStripes)].past;
  for (;;) {
    thread.change_counter->fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return;
    thread.change_counter->fetch_sub(1, std::memory_order_release);
    closed_.wait(true, std::memory_order_acquire);
  }
}

void Gate::leave(ThreadState& thread) {
  if (--thread.changing == 0) thread.change_counter->fetch_sub(1, std::memory_order_release);
}

void Gate::close(ThreadState& thread) {
  closed_.store(true, std::memory_order_seq_cst);
  for (Stripe& stripe : stripes_)
    wait_until([&] { return stripe.past.load(std::memory_order_seq_cst) == 0; });
  thread.change_counter = nullptr;  // what it calls now is not counted
  ++thread.changing;
}

void Gate::open(ThreadState& thread) {
  --thread.changing;
  closed_.store(false, std::memory_order_seq_cst);
  closed_.notify_all();
}

void Gate::only_this_thread(ThreadState& thread) {
  for (Stripe& stripe : stripes_) stripe.past.store(0, std::memory_order_relaxed);
  closed_.store(false, std::memory_order_relaxed);
  if (thread.changing != 0 && thread.change_counter != nullptr)
    thread.change_counter->store(1, std::memory_order_relaxed);
}

}  // namespace plat::mstx
