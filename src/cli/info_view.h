// SPDX-License-Identifier: Apache-2.0
// What plat info shows: one machine, all its devices, and the names of the other machines.
#pragma once

#include <string>
#include <vector>

#include "device/config.h"
#include "device/observer.h"

namespace plat::cli {

struct DeviceLine {
  uint32_t number = 0;
  bool is_host = false;  // host memory that ACL allocates; shown only while somebody uses it
  std::string soc_name;
  device::Observation seen;
};

struct MachineView {
  device::Config config;
  std::vector<DeviceLine> lines;
  std::vector<std::string> others;
};

MachineView look_at(device::Config config);

}  // namespace plat::cli
