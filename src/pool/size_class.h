// SPDX-License-Identifier: Apache-2.0
// Size classes of small blocks: steps of 64 bytes up to 1 KiB, then eight to a power of two. Every class is a
// multiple of 64; media requests take classes that are multiples of 128, and spans start at multiples of
// their size, so starts need no further care.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace plat::pool {

inline constexpr uint32_t kSmallMax = 32768;
inline constexpr uint32_t kClasses = 16 + 5 * 8;

constexpr uint32_t class_bytes(uint32_t index) {
  if (index < 16) return (index + 1) * 64;
  const uint32_t power = (index - 16) / 8;
  return (1024u << power) + ((index - 16) % 8 + 1) * (128u << power);
}

// The class of a block whose last byte, its tail included, is at this offset.
inline uint32_t class_at(uint32_t last) {
  static constexpr auto kClassAt = [] {
    std::array<uint8_t, kSmallMax / 32> all{};
    for (uint32_t unit = 0, index = 0; unit < all.size(); ++unit) {
      while (class_bytes(index) < (unit + 1) * 32) ++index;
      all[unit] = static_cast<uint8_t>(index);
    }
    return all;
  }();
  return kClassAt[last / 32];
}

// Spans are short: a program that uses many classes a little would otherwise hold a long, nearly empty span
// of each.
constexpr uint32_t span_bytes(uint32_t index) { return class_bytes(index) <= 4096 ? 32768 : 65536; }

// How many blocks of a class a thread keeps: 128 KiB worth, between 16 and 64. When it has too many it
// returns three quarters; when it has none it takes as many as others have returned, up to all: a thread that
// only frees, and one that only allocates, come to the common store as seldom as they can.
constexpr uint32_t cache_capacity(uint32_t index) {
  constexpr auto kCapacity = [] {
    std::array<uint8_t, kClasses> all{};
    for (uint32_t each = 0; each < kClasses; ++each) {
      const uint32_t count = 131072 / class_bytes(each);
      all[each] = static_cast<uint8_t>(count < 16 ? 16 : count > 64 ? 64 : count);
    }
    return all;
  }();
  return kCapacity[index];
}
constexpr uint32_t spill_count(uint32_t index) { return (3 * cache_capacity(index) + 3) / 4; }
// How many are cut from spans for it at once: 32 KiB worth, since most programs need few of most classes.
constexpr uint32_t cut_count(uint32_t index) {
  const uint32_t count = 32768 / class_bytes(index);
  return count < 2 ? 2 : count > 32 ? 32 : count;
}

static_assert(class_bytes(15) == 1024 && class_bytes(16) == 1152 && class_bytes(kClasses - 1) == kSmallMax);

}  // namespace plat::pool
