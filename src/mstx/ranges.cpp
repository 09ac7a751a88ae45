// SPDX-License-Identifier: Apache-2.0
#include "mstx/ranges.h"

#include <new>

namespace plat::mstx {

Ranges::~Ranges() {
  for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

bool Ranges::grow() {
  std::lock_guard lock(growing_);
  if (static_cast<uint32_t>(free_.load(std::memory_order_acquire)) != 0) return true;
  if (chunk_count_ == chunks_.size()) return false;
  const uint32_t first = chunk_count_ * kChunk;
  chunks_[chunk_count_++].store(new Chunk, std::memory_order_release);
  // Pushed back to front, so that slots are given out in order.
  for (uint32_t i = kChunk; i-- > 0;) give_back(first + i);
  return true;
}

RangeRecord* Ranges::take(uint32_t& slot) {
  uint64_t head = free_.load(std::memory_order_acquire);
  for (;;) {
    const auto top = static_cast<uint32_t>(head);
    if (top == 0) {
      if (!grow()) return nullptr;
      head = free_.load(std::memory_order_acquire);
      continue;
    }
    const uint32_t next = entry(top - 1).next.load(std::memory_order_relaxed);
    if (free_.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | next, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      slot = top - 1;
      return &entry(slot).record;
    }
  }
}

uint64_t Ranges::open(uint32_t slot) {
  std::atomic<uint64_t>& state = entry(slot).state;
  const uint64_t generation = ((state.load(std::memory_order_relaxed) >> 1) + 1) & UINT32_MAX;
  // An id has the generation above and the slot below; generation 0 is skipped, so that an id exceeds 32
  // bits.
  const uint64_t used = generation == 0 ? 1 : generation;
  state.store(used << 1 | 1, std::memory_order_release);
  return used << 32 | slot;
}

void Ranges::give_back(uint32_t slot) {
  uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    entry(slot).next.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | (slot + 1),
                                        std::memory_order_acq_rel, std::memory_order_relaxed));
}

RangeRecord* Ranges::close(uint64_t id, uint32_t& slot) {
  slot = static_cast<uint32_t>(id);
  if (slot >= kMax || chunks_[slot / kChunk].load(std::memory_order_acquire) == nullptr) return nullptr;
  uint64_t expected = (id >> 32) << 1 | 1;
  if (!entry(slot).state.compare_exchange_strong(expected, (id >> 32) << 1, std::memory_order_acq_rel))
    return nullptr;
  return &entry(slot).record;
}

void Ranges::only_this_thread() { new (&growing_) std::mutex; }

}  // namespace plat::mstx
