// SPDX-License-Identifier: Apache-2.0
// The machines that have control files in a directory, and the removal of those on which nobody lives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/config.h"
#include "device/ids.h"

namespace plat::device {

struct Machine {
  std::string node;
  std::vector<BankId> banks;  // ascending
};

// The first process of a machine decides its product and capacity; settings that nobody chose become those.
void adopt_running_machine(Config& config);

// The pid namespace of the first process of a machine that runs; 0 when none does.
uint64_t home_namespace(const Config& config);

// By name. A directory that is not there has none.
std::vector<Machine> find_machines(const std::string& directory);

struct Removal {
  std::string path;
  bool in_use = false;  // somebody lives there: left alone
  std::string problem;  // why it could not be removed, if so
};

// Removes the control and data files of one machine, unless they are in use. With `only_look` nothing is
// removed.
std::vector<Removal> remove_machine(const std::string& directory, const Machine& machine, bool only_look);

}  // namespace plat::device
