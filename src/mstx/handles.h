// SPDX-License-Identifier: Apache-2.0
// The handles that clients hold: a kind, an index and a generation in 64 bits.
//
// They look like pointers and are none: the top byte makes them addresses that no machine maps, so a tool or
// program that follows one faults at once. A value that was never given (an uninitialised field) is told from
// one that was.
#pragma once

#include <cstdint>
#include <optional>

#include "core/generation_table.h"

namespace plat::mstx {

using core::Handle;

enum class HandleKind : uint8_t { Domain = 0xD1, Heap = 0xD2, Region = 0xD3 };

inline constexpr uint32_t kGenerationBits = 24;
inline constexpr uint32_t kGenerationMax = (1u << kGenerationBits) - 1;

template <class Pointer>
Pointer to_client(HandleKind kind, Handle handle) {
  const uint64_t bits =
      static_cast<uint64_t>(kind) << 56 | static_cast<uint64_t>(handle.generation) << 32 | handle.index;
  return reinterpret_cast<Pointer>(bits);
}

// Nothing when the value cannot have come from to_client.
inline std::optional<Handle> from_client(HandleKind kind, const void* value) {
  const auto bits = reinterpret_cast<uint64_t>(value);
  const Handle handle{static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32) & kGenerationMax};
  if (bits >> 56 != static_cast<uint64_t>(kind) || !handle) return std::nullopt;
  return handle;
}

}  // namespace plat::mstx
