// SPDX-License-Identifier: Apache-2.0
// Where a device stands among the servers of a super-pod: the number by which other servers call it.
#pragma once

#include <cstdint>

namespace plat::device {

// What a device outside any pod reports as its server.
inline constexpr uint32_t kNoServer = 0x3FF;
inline constexpr uint32_t kLargestServer = kNoServer - 1;

// The super-device id (sdid): server, chip, die, and the number of the device in its server. Two dies are a
// chip.
constexpr uint32_t super_device_id(uint32_t server, uint32_t device) {
  return (server & 0x3FF) << 22 | (device / 2 & 0xF) << 18 | (device % 2) << 16 | (device & 0xFFFF);
}
constexpr uint32_t server_of(uint32_t super_device_id) { return super_device_id >> 22; }

}  // namespace plat::device
