// SPDX-License-Identifier: Apache-2.0
// A look at a device from outside: who holds what, without joining the machine.
//
// An observer takes no process slot, creates no file and writes nothing. It copies the control file with
// reads and never maps it: a mapping would take memory for the holes of the file, and would fault should
// the file be created anew in the meantime. It takes no lock, so that an observer that is stopped stops
// nobody else: a copy during which no change began or went on is of one moment, and another one is made a few
// times over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/ledger.h"

namespace plat::device {

struct DeviceView {
  std::string product;  // key
  uint64_t capacity_bytes = 0;
  uint64_t free_bytes = 0;          // what aclrtGetMemInfo would say now
  uint64_t dead_bytes = 0;          // of free_bytes: still to be taken back from processes that ended
  std::vector<Holder> holders;      // living processes, largest first; those that hold nothing included
  bool is_of_one_moment = false;    // no: changes went on all the time, the figures may not add up
  int32_t changing_pid = 0;         // then: who was inside a change at last, perhaps stopped; 0 if unknown
  bool died_inside_change = false;  // the next process that calls in puts the books in order
  std::string difference;           // between what is derived and the ground truth; "" if there is none
};

enum class ObserveState {
  Idle,     // nobody uses the device: no control file, or one that is left over
  Live,     // `view` is filled
  Unknown,  // somebody does, but the file cannot be understood; `problem` says why
};

struct Observation {
  ObserveState state = ObserveState::Idle;
  DeviceView view;
  std::string problem;
};

// What a device that somebody uses was made as. Cheaper than observe: it reads no table.
struct RunningDevice {
  std::string product;  // key
  uint64_t capacity_bytes = 0;
  uint64_t home_namespace = 0;  // where pids are what whitelists call them
  uint32_t server = 0;          // of the super-pod
};
std::optional<RunningDevice> find_running(const std::string& control_path);

// Looks at one control file; see Node::control_path.
Observation observe(const std::string& control_path);

}  // namespace plat::device
