// SPDX-License-Identifier: Apache-2.0
// Numbers of few bytes when they are small.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plat::inspect {

inline constexpr size_t kVarintMax = 10;

// Seven bits a byte, lowest first. Needs kVarintMax bytes of room: it stores eight at once where they hold
// the number, because a loop over the bytes costs more than all else about an event.
inline uint8_t* put_varint(uint8_t* at, uint64_t value) {
  static_assert(std::endian::native == std::endian::little);
  if (value < 0x80) {
    *at = static_cast<uint8_t>(value);
    return at + 1;
  }
  if (value < uint64_t{1} << 56) {
    const auto bytes = static_cast<unsigned>(std::bit_width(value) + 6) / 7;
    value = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
    value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
    value = (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
    value |= 0x8080808080808080 & ((uint64_t{1} << (8 * (bytes - 1))) - 1);
    std::memcpy(at, &value, sizeof value);
    return at + bytes;
  }
  while (value >= 0x80) {
    *at++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<uint8_t>(value);
  return at;
}

// Small for small differences of either sign.
inline uint64_t zigzag(uint64_t difference) {
  return (difference << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(difference) >> 63);
}
inline uint64_t unzigzag(uint64_t coded) { return (coded >> 1) ^ (~(coded & 1) + 1); }

// Reads what may be anything; after the first thing that does not fit everything is 0 and ok() is false.
class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool ok() const { return ok_; }
  bool at_end() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  uint8_t byte() {
    if (at_ == end_) return fail();
    return *at_++;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail();
      const uint8_t part = *at_++;
      value |= static_cast<uint64_t>(part & 0x7f) << shift;
      if ((part & 0x80) == 0) return value;
    }
    return fail();
  }
  std::string_view text(uint64_t size) {
    if (size > left()) {
      fail();
      return {};
    }
    const std::string_view found(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return found;
  }

 private:
  uint8_t fail() {
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool ok_ = true;
};

}  // namespace plat::inspect
