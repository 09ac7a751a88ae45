// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits as IEEE 754 has them: one of sign, five of exponent, ten of fraction. Not every compiler
// has a type for them.
#pragma once

#include <bit>
#include <cstdint>

namespace plat {

inline float float_of_half(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 31;
  const uint32_t fraction = half & 0x3FF;
  if (exponent == 31) {  // infinite, or no number: then one that raises nothing
    const uint32_t quiet = fraction != 0 ? 1u << 22 : 0;
    return std::bit_cast<float>(sign | 0x7F800000 | quiet | fraction << 13);
  }
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

// To the nearest one, of two as near to the even one.
inline uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  const auto rounded = [](uint32_t number, uint32_t shift) {
    const uint32_t half = 1u << (shift - 1);
    return (number + half - 1 + (number >> shift & 1)) >> shift;
  };
  uint32_t result = 0;
  if (magnitude > 0x7F800000) {
    result = 0x7E00 | (magnitude >> 13 & 0x3FF);
  } else if (magnitude >= 0x477FF000) {  // 65520: nearer to what comes after the largest
    result = 0x7C00;
  } else if (magnitude >= 0x38800000) {  // 2^-14: a fraction with a leading one
    result = rounded(magnitude - 0x38000000, 13);
  } else if (magnitude >= 0x33000000) {  // 2^-25: half of the smallest
    result = rounded((magnitude & 0x7FFFFF) | 0x800000, 126 - (magnitude >> 23));
  }
  return static_cast<uint16_t>(sign | result);
}

}  // namespace plat
