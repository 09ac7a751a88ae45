// SPDX-License-Identifier: Apache-2.0
#include "device/identity.h"

#include <fmt/format.h>

#include "os/process.h"

namespace plat::device {

namespace {

// FNV-1a, which is the same everywhere; std::hash need not be.
uint64_t hash_of(const std::string& text, uint64_t start) {
  uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

constexpr uint32_t kDiesOfAChip = 2;

}  // namespace

std::array<uint8_t, 16> uuid_of(const Config& config, uint32_t device) {
  // A private machine is that of one process.
  const std::string machine = config.is_private()
                                  ? fmt::format("{}:{}", os::process_id(), os::this_process().start_time)
                                  : fmt::format("{}/{}", config.directory, config.node);
  const std::string text = fmt::format("{}|{}|{}|{}", os::boot_id(), machine, config.product->key, device);
  const uint64_t halves[] = {hash_of(text, 0xcbf29ce484222325), hash_of(text, 0x9e3779b97f4a7c15)};
  std::array<uint8_t, 16> uuid{};
  for (size_t i = 0; i < uuid.size(); ++i) uuid[i] = static_cast<uint8_t>(halves[i / 8] >> (i % 8 * 8));
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x80);  // version 8: made in a way of one's own
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::optional<std::string> pci_text_of(const Product& product, uint32_t device) {
  if (product.host_link != HostLink::Pcie) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", 0, device + 1, 0, 0);
}

Connection connection_of(const Product& product, uint32_t device, uint32_t other) {
  if (product.host_link != HostLink::Hccs) return Connection::Unknown;
  if (device == other) return Connection::Self;
  return device / kDiesOfAChip == other / kDiesOfAChip ? Connection::Chip : Connection::Switch;
}

}  // namespace plat::device
