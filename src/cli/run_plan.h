// SPDX-License-Identifier: Apache-2.0
// From the options of plat run to the environment of the program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/config.h"
#include "os/process.h"

namespace plat::cli {

struct RunOptions {
  std::map<std::string, std::string> settings;  // by key of device::settings(), those that were given
  std::vector<std::string> rules;               // ID=SEVERITY
  std::vector<std::string> faults;              // clauses of a fault plan, or @FILE
  std::string config_file;
  std::string visible;
  bool quiet = false;
  bool list_settings = false;
  std::vector<std::string> command;
};

struct RunPlan {
  std::map<std::string, std::string> variables;  // of the program, in addition to ours
  device::Config config;                         // as the library will read it
  std::string own_node;  // the machine made for this program alone; "" if it joins one
  std::string problem;   // why it cannot be run
};

// `prefix` is the tree with lib64/libascendcl.so; the process gives its name to a machine of the program's
// own.
RunPlan plan_run(const RunOptions& options, const std::string& prefix, const os::ProcessIdentity& process);

// PLAT_HOST_ACCESS and --host-access for the setting host_access.
std::string variable_name(const std::string& key);
std::string option_name(const std::string& key);

}  // namespace plat::cli
