// SPDX-License-Identifier: Apache-2.0
#include "pool/depot.h"

#include <algorithm>
#include <mutex>

namespace plat::pool {

uint32_t Depot::put(uint32_t index, const SmallBlock* blocks, uint32_t count) {
  const uint32_t room = stacks_.load(std::memory_order_relaxed) * cache_capacity(index);
  Shelf& shelf = shelves_[index];
  std::lock_guard guard(shelf.lock);
  if (shelf.blocks == nullptr) [[unlikely]]
    shelf.blocks = std::make_unique<SmallBlock[]>(size_t{kMostStacks} * cache_capacity(index));
  const uint32_t size = shelf.size.load(std::memory_order_relaxed);
  count = std::min(count, room - std::min(room, size));
  std::copy_n(blocks, count, shelf.blocks.get() + size);
  shelf.size.store(size + count, std::memory_order_relaxed);
  return count;
}

uint32_t Depot::take(uint32_t index, SmallBlock* out, uint32_t count) {
  Shelf& shelf = shelves_[index];
  std::lock_guard guard(shelf.lock);
  const uint32_t size = shelf.size.load(std::memory_order_relaxed);
  count = std::min(count, size);
  std::copy_n(shelf.blocks.get() + (size - count), count, out);
  shelf.size.store(size - count, std::memory_order_relaxed);
  return count;
}

void Depot::clear() {
  for (Shelf& shelf : shelves_) {
    std::lock_guard guard(shelf.lock);
    shelf.size.store(0, std::memory_order_relaxed);
  }
}

uint64_t Depot::blocks() const {
  uint64_t blocks = 0;
  for (uint32_t index = 0; index < kClasses; ++index) blocks += count(index);
  return blocks;
}

uint64_t Depot::bytes() const {
  uint64_t bytes = 0;
  for (uint32_t index = 0; index < kClasses; ++index) bytes += uint64_t{count(index)} * class_bytes(index);
  return bytes;
}

}  // namespace plat::pool
