// SPDX-License-Identifier: Apache-2.0
// GenerationTable<T>: records that are known by handles, which tell a stale one from a live one.
//
// A handle is the place of a record and how often that place was taken. A record never moves, and keeps its
// value when it is given back, until its place is taken again: so a handle that is used once too often can
// still be named for what it stood for, while kResting places wait their turn. With none resting, the place
// that was left last is taken first.
//
// Writers are serialised by the caller. Whether a handle is live is asked from any thread, without a lock;
// the record is the caller's to guard.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#include "core/stable_array.h"

namespace plat::core {

struct Handle {
  uint32_t index = 0;
  uint32_t generation = 0;  // 0 is no handle
  friend constexpr bool operator==(Handle, Handle) = default;
  explicit constexpr operator bool() const { return generation != 0; }
};

// How large a table may get, and how its handles are used up.
struct TableShape {
  uint32_t resting = 0;  // places that wait before the oldest of them is taken again
  uint32_t generation_bits = 24;
  uint32_t chunk_size = 1024;
  uint32_t chunks = 16384;
};

template <class T, TableShape kShape = TableShape{}>
class GenerationTable {
 public:
  static constexpr uint32_t kCapacity = kShape.chunk_size * kShape.chunks;
  static constexpr uint32_t kResting = kShape.resting;
  static constexpr uint32_t kGenerationMax =
      static_cast<uint32_t>((uint64_t{1} << kShape.generation_bits) - 1);
  static_assert(kShape.generation_bits < 32);

  // No handle when the table is full; throws where there is no memory. The record is as its last owner left
  // it.
  Handle take() {
    uint32_t index = kNone;
    if (vacant_ <= kResting) index = take_fresh();
    if (index == kNone) index = take_vacant();
    if (index == kNone) return {};
    Slot& slot = slots_.at(index);
    const uint32_t last = slot.life.load(std::memory_order_relaxed) >> 1;
    const uint32_t generation = last == kGenerationMax ? 1 : last + 1;
    slot.life.store(generation << 1 | kLive, std::memory_order_release);
    return {index, generation};
  }

  // Nothing happens to a handle that is not live.
  void give_back(Handle handle) {
    if (!is_live(handle)) return;
    Slot& slot = slots_.at(handle.index);
    slot.life.store(handle.generation << 1, std::memory_order_release);
    slot.next = kNone;
    if (oldest_ == kNone) {
      oldest_ = newest_ = handle.index;
    } else if (kResting == 0) {
      slot.next = std::exchange(oldest_, handle.index);
    } else {
      slots_.at(newest_).next = handle.index;
      newest_ = handle.index;
    }
    ++vacant_;
  }

  bool is_live(Handle handle) const {
    const Slot* slot = slots_.find(handle.index);
    if (slot == nullptr) return false;
    const uint32_t life = slot->life.load(std::memory_order_acquire);
    return (life & kLive) != 0 && life >> 1 == handle.generation;
  }
  // The record of a handle that is live.
  T* live(Handle handle) const { return is_live(handle) ? &slots_.at(handle.index).record : nullptr; }
  // The record of a handle that is live, or was, and whose place has not been taken since.
  T* known(Handle handle) const {
    Slot* slot = slots_.find(handle.index);
    const bool same = slot != nullptr && handle && generation_of(*slot) == handle.generation;
    return same ? &slot->record : nullptr;
  }

  // By place alone, which must have been taken at some time.
  T& at(uint32_t index) const { return slots_.at(index).record; }
  bool is_live_at(uint32_t index) const {
    return (slots_.at(index).life.load(std::memory_order_acquire) & kLive) != 0;
  }
  // The handle of the record that is there, or was there last; none where nothing ever was.
  Handle handle_at(uint32_t index) const {
    const Slot* slot = slots_.find(index);
    return slot == nullptr ? Handle{} : Handle{index, generation_of(*slot)};
  }

  // One past the last place that was ever taken; for writers, as is the number of live records.
  uint32_t places() const { return slots_.size(); }
  uint32_t size() const { return slots_.size() - vacant_; }

  template <class Visit>
  void for_each_live(Visit&& visit) const {
    for (uint32_t index = 0; index < places(); ++index)
      if (is_live_at(index)) visit(handle_at(index), at(index));
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kLive = 1;

  struct Slot {
    std::atomic<uint32_t> life{0};  // generation, and whether it is live in the lowest bit
    uint32_t next = kNone;          // of those that wait
    T record{};
  };

  static uint32_t generation_of(const Slot& slot) { return slot.life.load(std::memory_order_acquire) >> 1; }

  // Without memory for a fresh one a place that rests will do.
  uint32_t take_fresh() {
    try {
      const uint32_t index = slots_.take();
      return index == kCapacity ? kNone : index;
    } catch (const std::bad_alloc&) {
      if (oldest_ == kNone) throw;
      return kNone;
    }
  }
  uint32_t take_vacant() {
    if (oldest_ == kNone) return kNone;
    const uint32_t index = std::exchange(oldest_, slots_.at(oldest_).next);
    --vacant_;
    return index;
  }

  StableArray<Slot, kShape.chunk_size, kShape.chunks> slots_;
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  uint32_t vacant_ = 0;
};

}  // namespace plat::core
