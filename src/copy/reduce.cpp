// SPDX-License-Identifier: Apache-2.0
#include "copy/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/half.h"
#include "base/units.h"

namespace plat::copy {

namespace {

constexpr uint64_t kPieceBytes = 256_KiB;

// The upper half of a float. Rounded to the nearest, to even if two are.
struct Brain {
  uint16_t bits;
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  static Brain of(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7FFFFFFF) > 0x7F800000)
      return {static_cast<uint16_t>(word >> 16 | 0x40)};  // stays no number
    return {static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16)};
  }
};
struct Half {
  uint16_t bits;
  explicit operator float() const { return float_of_half(bits); }
  static Half of(float value) { return {half_of_float(value)}; }
};

template <class Value>
Value combine(aclrtReduceKind kind, Value one, Value other) {
  if (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX) return std::max(one, other);
  if (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN) return std::min(one, other);
  if constexpr (std::is_integral_v<Value>)  // wraps around, which signed arithmetic must not
    return static_cast<Value>(static_cast<uint32_t>(one) + static_cast<uint32_t>(other));
  else
    return one + other;
}

template <class Element>
void combine_all(std::byte* into, const std::byte* from, uint64_t size_bytes, aclrtReduceKind kind) {
  for (uint64_t at = 0; at < size_bytes; at += sizeof(Element)) {
    Element one, other;
    std::memcpy(&one, into + at, sizeof one);
    std::memcpy(&other, from + at, sizeof other);
    if constexpr (std::is_arithmetic_v<Element>)
      one = combine(kind, one, other);
    else
      one = Element::of(combine(kind, static_cast<float>(one), static_cast<float>(other)));
    std::memcpy(into + at, &one, sizeof one);
  }
}

using Combine = void (*)(std::byte*, const std::byte*, uint64_t, aclrtReduceKind);

Combine combine_of(aclDataType type) {
  switch (type) {
    case ACL_FLOAT:
      return combine_all<float>;
    case ACL_FLOAT16:
      return combine_all<Half>;
    case ACL_BF16:
      return combine_all<Brain>;
    case ACL_INT8:
      return combine_all<int8_t>;
    case ACL_INT16:
      return combine_all<int16_t>;
    case ACL_INT32:
      return combine_all<int32_t>;
    case ACL_UINT32:
      return combine_all<uint32_t>;
    default:
      return nullptr;
  }
}

}  // namespace

bool can_reduce(const device::Product& product, aclrtReduceKind kind, aclDataType type) {
  // What comparing for equality leaves behind is documented nowhere.
  if (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL || combine_of(type) == nullptr) return false;
  const std::string_view key = product.key;
  const bool sum = kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM;
  if (key == "950") return true;
  if (key == "a2" || key == "a3") return type != ACL_UINT32;
  if (key == "inference") return sum && (type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_INT16);
  return key == "training" && sum && type == ACL_FLOAT;
}

Result<> reduce(const Mover& mover, const Reduction& work, uint32_t device) {
  const Combine combine_piece = combine_of(work.type);
  // All of both is looked at before the first byte changes.
  PLAT_TRY(mover.check(work.target, work.size_bytes, device, "dst"));
  PLAT_TRY(mover.check(work.source, work.size_bytes, device, "src"));
  std::vector<std::byte> into(std::min(work.size_bytes, kPieceBytes));
  std::vector<std::byte> from(into.size());
  for (uint64_t at = 0; at < work.size_bytes; at += kPieceBytes) {
    const uint64_t bytes = std::min(kPieceBytes, work.size_bytes - at);
    PLAT_TRY(mover.copy(va_of(into.data()), work.target + at, bytes, device));
    PLAT_TRY(mover.copy(va_of(from.data()), work.source + at, bytes, device));
    combine_piece(into.data(), from.data(), bytes, work.kind);
    PLAT_TRY(mover.copy(work.target + at, va_of(into.data()), bytes, device));
  }
  return {};
}

}  // namespace plat::copy
