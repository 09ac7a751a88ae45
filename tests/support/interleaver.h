// SPDX-License-Identifier: Apache-2.0
// Runs the threads of a trial one at a time, in all orders that need few preemptions, over the real code.
//
// The code is compiled as for the thread sanitizer, whose calls at every access to an atomic this program
// answers itself (interleaver_steps.cpp): each is a step before which another thread may go on. So are
// mutexes. Other code runs through between two steps. A thread goes on until it ends or waits; taking its
// turn away where it could go on is a preemption, and few of them find most mistakes (Musuvathi and Qadeer,
// "Iterative context bounding"). What memory orders allow beyond that is tests/model/'s to find.
//
// A schedule is repeatable: a trial must do the same whenever it is given the same turns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plat::test {

// One thread of a trial. Preparations run one after another, before the first step.
struct Actor {
  std::function<void()> run;
  std::function<void()> prepare = [] {};
};

struct Trial {
  std::vector<Actor> actors;
  // Once all have ended: what went wrong, or nothing.
  std::function<std::string()> check;
};

// What a store of a step becomes, and what a load of it gives: for a test that puts a mistake back to see it
// found. `place` is the atomic, `value` what the code stores or would read.
struct Distortion {
  std::function<uint64_t(const void* place, uint64_t value)> store = {};
  std::function<uint64_t(const void* place, uint64_t value)> load = {};
};

struct Exploration {
  std::string violation;    // of the first trial that went wrong, and its turns; empty: none did
  uint64_t executions = 0;  // of the trial
  uint64_t most_steps = 0;  // in one of them
};

// All schedules with at most that many preemptions.
Exploration explore_interleavings(const std::function<Trial()>& setup, unsigned preemptions,
                                  const Distortion& distortion = {});
// So many schedules by chance, with any number of preemptions: each step is one with the chance of 1 in 8.
Exploration sample_interleavings(const std::function<Trial()>& setup, uint64_t seed, uint64_t executions,
                                 const Distortion& distortion = {});

// A part of a thread that runs through as far as locks allow: what nobody else can see needs no turns.
class Unbroken {
 public:
  Unbroken();
  Unbroken(const Unbroken&) = delete;
  Unbroken& operator=(const Unbroken&) = delete;
  ~Unbroken();
};

// What the answers of the compiled code call. Outside of a trial's threads, nothing happens.
namespace steps {
void step();
uint64_t stored(const void* place, uint64_t value);
uint64_t loaded(const void* place, uint64_t value);
bool is_scheduled();              // this thread, now
void wait_for(const void* lock);  // somebody else has it: others go on until it is let go
void let_go(const void* lock);
}  // namespace steps

}  // namespace plat::test
