// SPDX-License-Identifier: Apache-2.0
// An explorer of interleavings: runs small programs of several threads in all orders, over atomics that may
// show each thread any value that the memory model of C++ lets it see, and finds what goes wrong in one of
// them.
//
// The semantics are those of views over histories, without promises. Every location keeps all values that
// were stored, in the order in which they were stored. A thread has a view: for each location the oldest
// value that it may still read. A release stores the view of the thread with the value; an acquire that reads
// it takes the view over. So a store waits unseen as long as nothing orders it (store buffering, stale reads,
// messages that overtake each other). A seq_cst load sees what the last seq_cst store to the location wrote.
// Not shown: loads that are moved behind later stores, stores of two threads to one location that pass each
// other, exchanges that fail for no reason.
//
// Plain memory has no values, only the question whether two accesses race: whether the second thread's view
// has taken over the first access. Memory that is handed on although somebody still uses it is a race.
//
// A state that was reached before (what each thread has read, all histories and views) is not gone on from
// again; that keeps thousands of states from becoming millions of executions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plat::model {

using Order = std::memory_order;

// For programs: every access is a step before which any other thread may run.
class Atomic {
 public:
  explicit Atomic(uint64_t value = 0);
  uint64_t load(Order order) const;
  void store(uint64_t value, Order order);
  uint64_t exchange(uint64_t value, Order order);
  uint64_t fetch_add(uint64_t value, Order order);
  // Tries with the latest value, and reads it into `expected` when it is another one.
  bool compare_exchange(uint64_t& expected, uint64_t value, Order order);

 private:
  uint32_t place_;
};

// No steps: whether two accesses race does not depend on which of them runs first.
class Plain {
 public:
  Plain();
  void read() const;
  void write();

 private:
  uint32_t place_;
};

// std::atomic_thread_fence, release and acquire: what the thread has seen goes with its later stores, and
// what came with its earlier loads is seen from here on. With seq_cst it also sees what threads had seen when
// they passed such a fence before.
void fence(Order order);

// What membarrier does: every thread passes a full barrier at some moment between its begin and its end.
void process_barrier();

// Ends the exploration with a violation.
void expect(bool condition, const char* what);

struct Outcome {
  std::string violation;  // empty: there is none
  uint64_t executions = 0;
  uint64_t states = 0;
};

// `setup` makes the locations and the programs of the threads, anew for each execution.
using Program = std::function<void()>;
Outcome explore(const std::function<std::vector<Program>()>& setup);

}  // namespace plat::model
