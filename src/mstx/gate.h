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

// What a thread is in the middle of.
struct ThreadState {
  uint32_t stripe;        // which counters it uses, + 1; 0 before the first use
  uint32_t reading;       // nesting of read sections
  uint32_t changing;      // nesting of passages through the gate
  uint32_t inside_tools;  // bit i: tool slot i is on this thread's stack
  uint32_t controlling;   // nesting of attaching and detaching
  uint32_t calls;         // since it last looked whether who asked for a recorder lives
  bool starting;          // it is looking for tools for the first time
  Counter* read_counter;
  Counter* change_counter;
  bool inside() const { return reading + changing != 0; }
};

ThreadState& this_thread();

class ReadSections {
 public:
  void enter(ThreadState& thread);
  void leave(ThreadState& thread);
  // Returns when every section that was open at the call has ended.
  void wait_for_all();
  // After fork: only the sections of this thread exist.
  void only_this_thread(ThreadState& thread);

 private:
  struct alignas(64) Stripe {
    Counter open{0};
  };
  static constexpr uint32_t kStripes = 64;
  void drain(uint32_t set);

  std::atomic<uint32_t> epoch_{0};
  std::array<std::array<Stripe, kStripes>, 2> sets_{};
};

class Gate {
 public:
  void enter(ThreadState& thread);
  void leave(ThreadState& thread);
  // Closes the gate and waits until nobody is past it; the closing thread itself may still pass.
  void close(ThreadState& thread);
  void open(ThreadState& thread);
  void only_this_thread(ThreadState& thread);

 private:
  struct alignas(64) Stripe {
    Counter past{0};
  };
  static constexpr uint32_t kStripes = 64;

  std::array<Stripe, kStripes> stripes_{};
  std::atomic<bool> closed_{false};
};

// The gate, closed for as long as this lives.
class ClosedGate {
 public:
  ClosedGate(Gate& gate, ThreadState& thread) : gate_(gate), thread_(thread) { gate_.close(thread_); }
  ~ClosedGate() { gate_.open(thread_); }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;

 private:
  Gate& gate_;
  ThreadState& thread_;
};

}  // namespace plat::mstx
