// SPDX-License-Identifier: Apache-2.0
// HandleTable<T>: hands out ids for objects and finds them again, in constant time and from any thread.
//
// An id is tag (what it names), generation (how often its slot was used) and slot; so an id that was freed,
// was of another kind, or is no id at all finds nothing. Ids are the same in every run that makes the same
// calls.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace plat::stream {

template <class T>
class HandleTable {
 public:
  static constexpr size_t kChunkSlots = 256;
  static constexpr size_t kChunks = 4096;

  // The tag stands above the 48 bits of an address: no pointer can be taken for an id.
  explicit HandleTable(uint8_t tag) : tag_(uint64_t{tag} << kTagShift) {}
  ~HandleTable() {
    for (auto& chunk : chunks_) delete chunk.load();
  }
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // Makes an object that knows its id: make(id) -> std::shared_ptr<T>. Nothing when all slots are taken.
  template <class Make>
  std::shared_ptr<T> add(Make make) {
    std::lock_guard lock(grow_mutex_);
    uint32_t index = 0;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (used_ == kChunkSlots * kChunks) return nullptr;
      if (used_ % kChunkSlots == 0) {
        free_.reserve(used_ + kChunkSlots);  // first: it may throw, and no later removal does
        chunks_[used_ / kChunkSlots].store(new Chunk);
      }
      index = used_++;
    }
    Slot& slot = *slot_at(index);
    std::shared_ptr<T> object;
    try {
      object = make(tag_ | uint64_t{slot.generation} << kGenerationShift | index);
    } catch (...) {
      free_.push_back(index);
      throw;
    }
    std::lock_guard stripe(stripe_of(index));
    slot.object = object;
    return object;
  }

  std::shared_ptr<T> find(uint64_t id) const {
    const Slot* slot = slot_of(id);
    if (!slot) return nullptr;
    std::lock_guard stripe(stripe_of(id & kIndexMask));
    return slot->generation == generation_of(id) ? slot->object : nullptr;
  }

  // The object, which the id no longer finds; nullptr if it did not.
  std::shared_ptr<T> remove(uint64_t id) {
    Slot* slot = slot_of(id);
    if (!slot) return nullptr;
    std::lock_guard lock(grow_mutex_);
    std::lock_guard stripe(stripe_of(id & kIndexMask));
    if (slot->generation != generation_of(id) || !slot->object) return nullptr;
    ++slot->generation;
    removals_.fetch_add(1, std::memory_order_release);
    free_.push_back(static_cast<uint32_t>(id & kIndexMask));
    return std::move(slot->object);
  }

  // The slot of an id: small, and no other live object has it.
  static uint32_t slot_number(uint64_t id) { return static_cast<uint32_t>(id & kIndexMask); }

  // How many were removed so far: while it stays, what was found is there.
  uint64_t removals() const { return removals_.load(std::memory_order_acquire); }

  std::vector<std::shared_ptr<T>> all() const {
    std::lock_guard lock(grow_mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (uint32_t index = 0; index < used_; ++index) {
      std::lock_guard stripe(stripe_of(index));
      if (const Slot* slot = slot_at(index); slot->object) objects.push_back(slot->object);
    }
    return objects;
  }

 private:
  static constexpr int kTagShift = 52;
  static constexpr int kGenerationShift = 20;
  static constexpr uint64_t kIndexMask = (uint64_t{1} << kGenerationShift) - 1;
  static_assert(kChunkSlots * kChunks == kIndexMask + 1);

  struct Slot {
    uint32_t generation = 1;
    std::shared_ptr<T> object;
  };
  using Chunk = std::array<Slot, kChunkSlots>;
  struct alignas(64) Stripe {
    std::mutex mutex;
  };

  static uint32_t generation_of(uint64_t id) { return static_cast<uint32_t>(id >> kGenerationShift); }

  Slot* slot_at(uint64_t index) const {
    Chunk* chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
    return chunk ? &(*chunk)[index % kChunkSlots] : nullptr;
  }
  Slot* slot_of(uint64_t id) const {
    return id >> kTagShift == tag_ >> kTagShift ? slot_at(id & kIndexMask) : nullptr;
  }
  std::mutex& stripe_of(uint64_t index) const { return stripes_[index % stripes_.size()].mutex; }

  const uint64_t tag_;
  mutable std::mutex grow_mutex_;  // guards used_ and free_; taken before a stripe
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
  std::atomic<uint64_t> removals_{0};
  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  mutable std::array<Stripe, 16> stripes_;  // each guards the slots of its index modulo 16
};

}  // namespace plat::stream
