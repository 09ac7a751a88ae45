// SPDX-License-Identifier: Apache-2.0
// Bitmaps over words that may live in shared memory: a set bit is a thing in use.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

namespace plat::core {

using BitWords = std::span<uint64_t>;

inline bool test_bit(BitWords words, uint32_t index) { return (words[index / 64] >> (index % 64)) & 1; }
inline void set_bit(BitWords words, uint32_t index) { words[index / 64] |= uint64_t{1} << (index % 64); }
inline void clear_bit(BitWords words, uint32_t index) { words[index / 64] &= ~(uint64_t{1} << (index % 64)); }

// The first clear bit at or after `hint`, going round; nothing when all `count` bits are set.
std::optional<uint32_t> find_clear(BitWords words, uint32_t count, uint32_t hint);

// The start of the first run of `length` clear bits at or after `hint`, then from 0; nothing when there is
// none.
std::optional<uint32_t> find_clear_run(BitWords words, uint32_t count, uint32_t length, uint32_t hint);

}  // namespace plat::core
