// SPDX-License-Identifier: Apache-2.0
// How calls and the coming and going of tools keep out of each other's way.
//
// ReadSections: a call that only passes through (a mark, a range) is a read section. It costs two increments
// on a counter that few threads share. Detaching waits until every section has ended that may still see the
// old tools; new ones are not held up. Counters come in two sets, and sections use the set that the epoch
// points at: waiting turns the epoch and drains the other set, twice, because a thread may be late in
// entering the set it has read.
//
// Gate: a call that changes what lives (a region, a heap, a domain) passes the gate. Attaching and detaching
// close it for as long as a newcomer is told what lives, so that it hears of each thing exactly once.
//
// A thread's sections nest: only the outermost counts, so a tool that calls mstx while it is called never
// waits for a gate that is waiting for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace plat::mstx {

using Counter = std::atomic<int64_t>;

// A thread in the sections of one kind.
struct Passage {
  uint32_t nesting;
  Counter* counter;  // nullptr: it is not counted

  void leave() {
    if (--nesting == 0) counter->fetch_sub(1, std::memory_order_release);
  }
};

// What a thread is in the middle of.
struct ThreadState {
  uint32_t stripe;  // which counters it uses, + 1; 0 before the first use
  Passage reading;
  Passage changing;
  uint32_t inside_tools;  // bit i: tool slot i is on this thread's stack
  uint32_t controlling;   // nesting of attaching and detaching
  uint32_t calls;         // since it last looked whether who asked for a recorder lives
  bool starting;          // it is looking for tools for the first time
  bool inside() const { return reading.nesting + changing.nesting != 0; }
};

// Initial-exec: these few bytes fit the reserve of loaders, and a call must not pay for a lookup.
extern constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));
inline ThreadState& this_thread() { return t_state; }

class Counters {
 public:
  Counter& mine();
  void wait_for_none();

 private:
  struct alignas(64) Stripe {
    Counter count{0};
  };
  std::array<Stripe, 64> stripes_{};
};

class ReadSections {
 public:
  void enter(Passage& reading);
  // Returns when every section that was open at the call has ended.
  void wait_for_all();

 private:
  std::atomic<uint32_t> epoch_{0};
  Counters sets_[2];
};

class Gate {
 public:
  void enter(Passage& changing);
  // Closes the gate and waits until nobody is past it; the closing thread itself may still pass.
  void lock();
  void unlock();

 private:
  Counters past_;
  std::atomic<bool> closed_{false};
};

}  // namespace plat::mstx
