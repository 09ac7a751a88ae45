// SPDX-License-Identifier: Apache-2.0
// SlotMap<T>: records with generational handles.
//
// A record that was erased keeps its value until its slot is taken again, and slots wait their turn in a
// queue: a handle that is used once too often still finds what it stood for, so the mistake can be passed on
// to those who can name it.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "mstx/handles.h"

namespace plat::mstx {

template <class T>
class SlotMap {
 public:
  // How many erased slots rest before the oldest is taken again.
  static constexpr uint32_t kResting = 256;

  Handle insert(T value) {
    if (resting_ <= kResting) {
      slots_.push_back(Slot{std::move(value), 1, kNone, true});
      ++live_;
      return {static_cast<uint32_t>(slots_.size() - 1), 1};
    }
    const uint32_t index = oldest_;
    Slot& slot = slots_[index];
    oldest_ = slot.next_resting;
    if (oldest_ == kNone) newest_ = kNone;
    --resting_;
    slot.value = std::move(value);
    slot.generation = slot.generation == kGenerationMax ? 1 : slot.generation + 1;
    slot.live = true;
    ++live_;
    return {index, slot.generation};
  }

  // The record of a handle that is alive.
  T* live(Handle handle) {
    Slot* slot = find(handle);
    return slot != nullptr && slot->live ? &slot->value : nullptr;
  }

  // The record of a handle that is alive or was erased not long ago.
  T* known(Handle handle) {
    Slot* slot = find(handle);
    return slot != nullptr ? &slot->value : nullptr;
  }

  void erase(Handle handle) {
    Slot* slot = find(handle);
    if (slot == nullptr || !slot->live) return;
    slot->live = false;
    slot->next_resting = kNone;
    if (newest_ != kNone) slots_[newest_].next_resting = handle.index;
    newest_ = handle.index;
    if (oldest_ == kNone) oldest_ = handle.index;
    ++resting_;
    --live_;
  }

  uint64_t size() const { return live_; }

  template <class Visit>
  void for_each_live(Visit&& visit) {
    for (uint32_t index = 0; index < slots_.size(); ++index)
      if (slots_[index].live) visit(Handle{index, slots_[index].generation}, slots_[index].value);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Slot {
    T value;
    uint32_t generation;
    uint32_t next_resting;
    bool live;
  };

  Slot* find(Handle handle) {
    if (handle.index >= slots_.size() || slots_[handle.index].generation != handle.generation) return nullptr;
    return &slots_[handle.index];
  }

  std::deque<Slot> slots_;  // a deque: records stay where they are
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  uint32_t resting_ = 0;
  uint64_t live_ = 0;
};

}  // namespace plat::mstx
