// SPDX-License-Identifier: Apache-2.0
// ASCEND_RT_VISIBLE_DEVICES: which devices of the machine a process sees, and under which ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plat::device {

struct Visible {
  std::vector<uint32_t> devices;  // numbers of the machine, by the ids that clients use
  std::string problem;            // why the list as a whole counts for nothing; "" if it does not
};

// As the vendor's runtime reads it, on a machine with so many devices: only the first 128 characters count,
// the list ends at the first item that is no number of a device, and one that does not ascend spoils it all.
Visible parse_visible(std::string_view text, uint32_t device_count);

}  // namespace plat::device
