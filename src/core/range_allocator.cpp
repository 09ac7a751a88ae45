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

void RangeAllocator::add(uint64_t start, uint64_t end) {
  stock(taken_ + 1);
  insert_free(start, end);
}

void RangeAllocator::release(uint64_t start, uint64_t size) noexcept {
  insert_free(start, start + size);
  --taken_;
}

// Makes sure that there are so many records, and room for two more that may come back; what comes back beyond
// that is dropped.
void RangeAllocator::stock(size_t count) {
  if (spare_.capacity() < count + 2) spare_.reserve(2 * (count + 2));
  while (spare_.size() < count) {
    Starts start;
    Sizes size;
    start.emplace();
    size.emplace();
    spare_.push_back({start.extract(start.begin()), size.extract(size.begin())});
  }
}

void RangeAllocator::carve(Starts::iterator range, uint64_t start, uint64_t end) {
  const uint64_t range_start = range->first;
  const uint64_t range_end = range->second;
  stock(taken_ + 2);  // one for the second piece that may stay, one for the day the range comes back
  erase_free(range);
  if (range_start < start) insert_free(range_start, start);
  if (end < range_end) insert_free(end, range_end);
  ++taken_;
}

void RangeAllocator::erase_free(Starts::iterator range) noexcept {
  free_bytes_ -= range->second - range->first;
  Record record{{}, by_size_.extract({range->second - range->first, range->first})};
  record.start = by_start_.extract(range);
  if (spare_.size() < spare_.capacity()) spare_.push_back(std::move(record));
}

void RangeAllocator::insert_free(uint64_t start, uint64_t end) noexcept {
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
  Record record = std::move(spare_.back());
  spare_.pop_back();
  record.start.key() = start;
  record.start.mapped() = end;
  record.size.value() = {end - start, start};
  by_start_.insert(std::move(record.start));
  by_size_.insert(std::move(record.size));
  free_bytes_ += end - start;
}

}  // namespace plat::core
