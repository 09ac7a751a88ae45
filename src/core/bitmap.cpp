// SPDX-License-Identifier: Apache-2.0
#include "core/bitmap.h"

#include <algorithm>

namespace plat::core {

namespace {

// The first bit equal to `wanted` in [from, to); `to` when there is none.
uint32_t next_bit(BitWords words, uint32_t from, uint32_t to, bool wanted) {
  while (from < to) {
    uint64_t word = words[from / 64];
    if (!wanted) word = ~word;
    word >>= from % 64;
    if (word != 0) return std::min(to, from + static_cast<uint32_t>(std::countr_zero(word)));
    from = (from / 64 + 1) * 64;
  }
  return to;
}

std::optional<uint32_t> run_between(BitWords words, uint32_t from, uint32_t to, uint32_t length) {
  while (from < to && to - from >= length) {
    const uint32_t start = next_bit(words, from, to, false);
    if (to - start < length) return std::nullopt;
    const uint32_t end = next_bit(words, start, start + length, true);
    if (end - start >= length) return start;
    from = end;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> find_clear(BitWords words, uint32_t count, uint32_t hint) {
  if (hint >= count) hint = 0;
  uint32_t found = next_bit(words, hint, count, false);
  if (found < count) return found;
  found = next_bit(words, 0, hint, false);
  if (found < hint) return found;
  return std::nullopt;
}

std::optional<uint32_t> find_clear_run(BitWords words, uint32_t count, uint32_t length, uint32_t hint) {
  if (length == 0 || length > count) return std::nullopt;
  if (hint >= count) hint = 0;
  if (const auto found = run_between(words, hint, count, length)) return found;
  // A run that the first pass cut at `hint` may begin up to length - 1 before it.
  const uint32_t overlap_end = static_cast<uint32_t>(std::min<uint64_t>(count, uint64_t{hint} + length - 1));
  return run_between(words, 0, overlap_end, length);
}

}  // namespace plat::core
