// SPDX-License-Identifier: Apache-2.0
#include "core/range_allocator.h"

namespace plat::core {

std::optional<uint64_t> RangeAllocator::allocate(uint64_t size, uint64_t alignment) {
  for (auto it = by_size_.lower_bound({size, 0}); it != by_size_.end(); ++it) {
    const uint64_t start = it->second;
    const uint64_t end = start + it->first;
    const uint64_t aligned = (start + alignment - 1) & ~(alignment - 1);
    if (aligned < start || aligned > end || end - aligned < size) continue;
    carve(by_start_.find(start), aligned, aligned + size);
    return aligned;
  }
  return std::nullopt;
}

bool RangeAllocator::allocate_at(uint64_t start, uint64_t size) {
  auto range = by_start_.upper_bound(start);
  if (range == by_start_.begin()) return false;
  --range;
  if (start + size < start || range->second < start + size) return false;
  carve(range, start, start + size);
  return true;
}

void RangeAllocator::carve(std::map<uint64_t, uint64_t>::iterator range, uint64_t start, uint64_t end) {
  const uint64_t range_start = range->first;
  const uint64_t range_end = range->second;
  erase_free(range);
  if (range_start < start) insert_free(range_start, start);
  if (end < range_end) insert_free(end, range_end);
}

void RangeAllocator::erase_free(std::map<uint64_t, uint64_t>::iterator range) {
  by_size_.erase({range->second - range->first, range->first});
  free_bytes_ -= range->second - range->first;
  by_start_.erase(range);
}

void RangeAllocator::insert_free(uint64_t start, uint64_t end) {
  auto next = by_start_.lower_bound(start);
  if (next != by_start_.end() && next->first == end) {
    end = next->second;
    erase_free(next);
    next = by_start_.lower_bound(start);
  }
  if (next != by_start_.begin()) {
    auto previous = std::prev(next);
    if (previous->second == start) {
      start = previous->first;
      erase_free(previous);
    }
  }
  by_start_.emplace(start, end);
  by_size_.emplace(end - start, start);
  free_bytes_ += end - start;
}

}  // namespace plat::core
