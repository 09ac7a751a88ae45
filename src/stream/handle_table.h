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
#include <utility>
#include <vector>

#include "core/generation_table.h"

namespace plat::stream {

template <class T>
class HandleTable {
 public:
  static constexpr uint32_t kChunkSlots = 256;
  static constexpr uint32_t kChunks = 4096;

  // The tag stands above the 48 bits of an address: no pointer can be taken for an id.
  explicit HandleTable(uint8_t tag) : tag_(tag) {}

  // Makes an object that knows its id: make(id) -> std::shared_ptr<T>. Nothing when all slots are taken.
  template <class Make>
  std::shared_ptr<T> add(Make make) {
    std::lock_guard lock(grow_mutex_);
    const core::Handle handle = objects_.take();
    if (!handle) return nullptr;
    std::shared_ptr<T> object;
    try {
      object = make(id_of(handle));
    } catch (...) {
      objects_.give_back(handle);
      throw;
    }
    std::lock_guard stripe(stripe_of(handle));
    objects_.at(handle.index) = object;
    return object;
  }

  std::shared_ptr<T> find(uint64_t id) const {
    const core::Handle handle = handle_of(id);
    if (!handle) return nullptr;
    std::lock_guard stripe(stripe_of(handle));
    const std::shared_ptr<T>* object = objects_.live(handle);
    return object ? *object : nullptr;
  }

  // The object, which the id no longer finds; nullptr if it did not.
  std::shared_ptr<T> remove(uint64_t id) {
    const core::Handle handle = handle_of(id);
    if (!handle) return nullptr;
    std::lock_guard lock(grow_mutex_);
    std::lock_guard stripe(stripe_of(handle));
    std::shared_ptr<T>* object = objects_.live(handle);
    if (object == nullptr) return nullptr;
    objects_.give_back(handle);
    removals_.fetch_add(1, std::memory_order_release);
    return std::move(*object);
  }

  // The slot of an id: small, and no other live object has it.
  static uint32_t slot_number(uint64_t id) { return static_cast<uint32_t>(id & kIndexMask); }

  // How many were removed so far: while it stays, what was found is there.
  uint64_t removals() const { return removals_.load(std::memory_order_acquire); }

  // Any one that the condition holds for. Needs no memory.
  template <class Condition>
  std::shared_ptr<T> find_if(const Condition& condition) const {
    std::lock_guard lock(grow_mutex_);
    for (uint32_t index = 0; index < objects_.places(); ++index) {
      if (!objects_.is_live_at(index)) continue;
      std::lock_guard stripe(stripe_of(objects_.handle_at(index)));
      if (const auto& object = objects_.at(index); object && condition(*object)) return object;
    }
    return nullptr;
  }

  std::vector<std::shared_ptr<T>> all() const {
    std::lock_guard lock(grow_mutex_);
    std::vector<std::shared_ptr<T>> objects;
    objects_.for_each_live([&](core::Handle handle, const std::shared_ptr<T>& object) {
      std::lock_guard stripe(stripe_of(handle));
      if (object) objects.push_back(object);
    });
    return objects;
  }

 private:
  static constexpr int kTagShift = 52;
  static constexpr int kGenerationShift = 20;
  static constexpr uint64_t kIndexMask = (uint64_t{1} << kGenerationShift) - 1;
  static_assert(uint64_t{kChunkSlots} * kChunks == kIndexMask + 1);

  struct alignas(64) Stripe {
    std::mutex mutex;
  };

  uint64_t id_of(core::Handle handle) const {
    return tag_ << kTagShift | uint64_t{handle.generation} << kGenerationShift | handle.index;
  }
  // No handle for an id of another kind.
  core::Handle handle_of(uint64_t id) const {
    if (id >> kTagShift != tag_) return {};
    return {slot_number(id), static_cast<uint32_t>(id >> kGenerationShift)};
  }
  std::mutex& stripe_of(core::Handle handle) const { return stripes_[handle.index % stripes_.size()].mutex; }

  const uint64_t tag_;
  mutable std::mutex grow_mutex_;  // guards which slots are taken; taken before a stripe
  std::atomic<uint64_t> removals_{0};
  core::GenerationTable<std::shared_ptr<T>,
                        core::TableShape{.generation_bits = 31, .chunk_size = kChunkSlots, .chunks = kChunks}>
      objects_;
  mutable std::array<Stripe, 16> stripes_;  // each guards the slots of its index modulo 16
};

}  // namespace plat::stream
