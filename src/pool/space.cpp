// SPDX-License-Identifier: Apache-2.0
#include "pool/space.h"

#include <algorithm>

namespace plat::pool {

void SpaceIndex::Entry::operator=(const Entry& other) {
  base = static_cast<const char*>(other.base);
  bytes = static_cast<uint64_t>(other.bytes);
  space = static_cast<Space*>(other.space);
}

Space* SpaceIndex::search(const Table& table, size_t size, const void* address) {
  // Behind the first few, spaces are in address order.
  const Entry* const first = &table.entries[kScan];
  const Entry* const after =
      std::upper_bound(first, first + (size - kScan), address,
                       [](const void* value, const Entry& entry) { return value < entry.base; });
  return after != first && (after - 1)->contains(address) ? static_cast<Space*>((after - 1)->space) : nullptr;
}

SpaceIndex::Table& SpaceIndex::table_with_room() {
  const Table* const old = table_;
  if (old != nullptr && old->size < old->capacity) return *table_;
  auto table = std::make_unique<Table>(old != nullptr ? 2 * old->capacity : 2 * kScan);
  if (old != nullptr) std::copy_n(old->entries.get(), old->capacity, table->entries.get());
  table->size = old != nullptr ? old->capacity : 0;
  tables_.push_back(std::move(table));
  table_ = tables_.back().get();
  return *tables_.back();
}

void SpaceIndex::add(Space* space) {
  std::lock_guard guard(mutex_);
  Table& table = table_with_room();
  const uint64_t turn = turn_.load(std::memory_order_relaxed);
  turn_.store(turn + 1, std::memory_order_relaxed);
  size_t at = table.size;
  for (; at > kScan && table.entries[at - 1].base > space->base; --at)
    table.entries[at] = table.entries[at - 1];
  table.entries[at].base = space->base;
  table.entries[at].bytes = space->bytes;
  table.entries[at].space = space;
  table.size = table.size + 1;
  turn_.store(turn + 2, std::memory_order_release);
}

void SpaceIndex::remove(Space* space) {
  std::lock_guard guard(mutex_);
  Table& table = *table_;
  const size_t size = table.size;
  size_t at = 0;
  while (at < size && table.entries[at].space != space) ++at;
  if (at == size) return;
  const uint64_t turn = turn_.load(std::memory_order_relaxed);
  turn_.store(turn + 1, std::memory_order_relaxed);
  for (; at + 1 < size; ++at) table.entries[at] = table.entries[at + 1];
  table.size = size - 1;
  turn_.store(turn + 2, std::memory_order_release);
}

}  // namespace plat::pool
