// SPDX-License-Identifier: Apache-2.0
// Byte units and the strong types for values that must not be mixed up.
#pragma once

#include <compare>
#include <cstdint>

namespace plat {

inline constexpr uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
inline constexpr uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
inline constexpr uint64_t operator""_GiB(unsigned long long n) { return n << 30; }
inline constexpr uint64_t operator""_TiB(unsigned long long n) { return n << 40; }

// A device virtual address as clients see it.
struct Va {
  uint64_t value = 0;
  friend constexpr auto operator<=>(Va, Va) = default;
  constexpr Va operator+(uint64_t bytes) const { return Va{value + bytes}; }
  constexpr uint64_t operator-(Va other) const { return value - other.value; }
};

inline Va va_of(const void* pointer) { return Va{reinterpret_cast<uint64_t>(pointer)}; }
inline void* pointer_of(Va va) { return reinterpret_cast<void*>(va.value); }

constexpr bool is_aligned(uint64_t value, uint64_t alignment) { return (value & (alignment - 1)) == 0; }
constexpr uint64_t align_down(uint64_t value, uint64_t alignment) { return value & ~(alignment - 1); }
// The caller has excluded overflow: value + alignment - 1 must be representable.
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return align_down(value + alignment - 1, alignment);
}

}  // namespace plat
