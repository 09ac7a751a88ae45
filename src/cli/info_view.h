// SPDX-License-Identifier: Apache-2.0
// What plat info shows: one machine, all its devices, and the names of the other machines.
#pragma once

#include <string>
#include <vector>

#include "cli/fabric_view.h"
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
  FabricStatus fabric;  // null where no daemon runs
};

MachineView view_machine(device::Config config);

// As JSON names it: "host", or its number.
nlohmann::ordered_json device_name(const DeviceLine& line);

}  // namespace plat::cli
