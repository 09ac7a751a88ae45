// SPDX-License-Identifier: Apache-2.0
// What identifies a device outside of ACL, and how two of them are connected.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "device/config.h"

namespace plat::device {

inline constexpr size_t kPciTextBytes = 13;  // "0000:01:00.0" and its null

// The same in every process of the machine, and different for each device and each machine of this computer.
std::array<uint8_t, 16> uuid_of(const Config& config, uint32_t device);

// Where the device stands on the bus of the software machine; nothing if the host reaches it by other means.
std::optional<std::string> pci_text_of(const Product& product, uint32_t device);

enum class Connection : uint8_t { Unknown, Self, Chip, Switch };
Connection connection_of(const Product& product, uint32_t device, uint32_t other);

}  // namespace plat::device
