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

inline uint32_t class_of(uint32_t bytes) {
  if (bytes <= 1024) return (bytes + 63) / 64 - (bytes > 0);
  const uint32_t power = static_cast<uint32_t>(std::bit_width(bytes - 1)) - 11;
  return 16 + power * 8 + ((bytes - 1 - (1024u << power)) >> (7 + power));
}

// Spans are short: a program that uses many classes a little would otherwise hold a long, nearly empty span
// of each.
constexpr uint32_t span_bytes(uint32_t index) { return class_bytes(index) <= 4096 ? 32768 : 65536; }

// How many blocks of a class a thread keeps: 64 KiB worth, between 4 and 64.
constexpr uint32_t cache_capacity(uint32_t index) {
  const uint32_t count = 65536 / class_bytes(index);
  return count < 4 ? 4 : count > 64 ? 64 : count;
}

static_assert(class_bytes(15) == 1024 && class_bytes(16) == 1152 && class_bytes(kClasses - 1) == kSmallMax);

}  // namespace plat::pool
