#include "pool/space.h"

#include <algorithm>

namespace plat::pool {

Space* SpaceIndex::search(const Table& table, const void* address) {
  // Behind the first few, spaces are in address order.
  auto after = std::upper_bound(table.begin() + kScan, table.end(), address,
                                [](const void* value, const Space* space) { return value < space->base; });
  if (after == table.begin() + kScan) return nullptr;
  Space* space = *(after - 1);
  return space->contains(address) ? space : nullptr;
}

void SpaceIndex::publish(std::unique_ptr<Table> table) {
  if (table->size() > kScan)
    std::sort(table->begin() + kScan, table->end(),
              [](const Space* a, const Space* b) { return a->base < b->base; });
  table_.store(table.get(), std::memory_order_release);
  versions_.push_back(std::move(table));
}

void SpaceIndex::add(Space* space) {
  std::lock_guard guard(mutex_);
  const Table* old = table_.load(std::memory_order_relaxed);
  auto table = old != nullptr ? std::make_unique<Table>(*old) : std::make_unique<Table>();
  table->push_back(space);
  publish(std::move(table));
}

void SpaceIndex::remove(Space* space) {
  std::lock_guard guard(mutex_);
  auto table = std::make_unique<Table>(*table_.load(std::memory_order_relaxed));
  std::erase(*table, space);
  publish(std::move(table));
}

}  // namespace plat::pool
