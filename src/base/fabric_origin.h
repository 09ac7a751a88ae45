// SPDX-License-Identifier: Apache-2.0
// Where the memory of a fabric handle is, for those who see only the 128 bytes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace plat {

// The low 20 bits are an index that no number of an export has (share/shareable.cpp), so that the one form of
// handle is never taken for the other.
inline constexpr uint32_t kFabricMark = 0xFABFFFFF;
inline constexpr uint32_t kFabricVersion = 1;
inline constexpr size_t kFabricServerOffset = 8;

// The server that has the memory; nothing if the handle is not one of ours.
inline std::optional<uint32_t> server_of_fabric_handle(const void* bytes) {
  uint32_t head[2];
  uint32_t server = 0;
  std::memcpy(head, bytes, sizeof head);
  if (head[0] != kFabricMark || head[1] != kFabricVersion) return std::nullopt;
  std::memcpy(&server, static_cast<const char*>(bytes) + kFabricServerOffset, sizeof server);
  return server;
}

}  // namespace plat
