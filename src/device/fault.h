// SPDX-License-Identifier: Apache-2.0
// The fault plan at work. Every call passes here when it begins, every allocation of pages when it is made.
//
// Calls are counted for each clause, in this process, in the order in which they come. Off: one relaxed load.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/fault_plan.h"

namespace plat::device::fault {

class Plan;
extern std::atomic<Plan*> active;

inline bool armed() { return active.load(std::memory_order_relaxed) != nullptr; }

// Counts from 0 again. Not for two threads at once. Without clauses the device is healthy. The seed is drawn
// when there is none, and printed if chance has a part.
void arm(const std::vector<Clause>& clauses, std::optional<uint64_t> seed);

// A call that the plan lets fail: with which code, and why.
struct Failure {
  int code;
  Error error;
};
// What the plan has for this call. Kills the process if it says so; a delay waits for the call's work.
std::optional<Failure> begin_call(const char* function);

// The delay that waits for what the calling thread queues next; taken once.
std::optional<std::chrono::microseconds> take_delay();
// Whether the next page of device memory that the calling thread gets is broken; taken once. It waits for one
// beyond the end of the call: a block may be cut from a page that is there already.
bool take_break();
// Called when a call is over: one that queued nothing is itself late.
void end_call();

// What befalls the answer of another server.
struct Disturbance {
  Effect effect;  // Delay, Drop, Cut or Corrupt
  std::chrono::microseconds delay;
  std::string why;  // which clause it was
};
std::optional<Disturbance> begin_answer(uint32_t server);

// Whether `bytes` more of the device may be allocated, with so much in use; counts them if so.
Result<> allow_allocation(uint32_t device, uint64_t bytes, uint64_t used_bytes);
// What is left of the device's capacity.
uint64_t capacity_left(uint32_t device, uint64_t capacity_bytes);

}  // namespace plat::device::fault
