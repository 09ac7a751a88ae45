// SPDX-License-Identifier: Apache-2.0
// Shortcuts: what a thread remembers of the memory that it copied with last, so that the next copy counts
// nothing and checks little.
//
// Using memory must keep its mapping, and counting users costs two locked instructions, which wait for all
// the stores of the copy before. So the thread only notes in a place of its own which mapping it uses, with
// no barrier; whoever takes a mapping down that other threads may remember first ends its life, then raises a
// barrier in all threads (os/barrier.h), and then looks whether one of them uses it.
//
// A shortcut is good while the mapping has the life in which it was remembered, and while the block around it
// has the tag that it had. Whoever makes one has pinned the mapping.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "base/units.h"
#include "core/page_table.h"
#include "device/bank.h"
#include "vmm/address_space.h"

namespace plat::vmm {

class Shortcuts {
  // A block or a mapping that the device may use, and how to know that it is still there.
  struct Shortcut {
    uint64_t owner = 0;  // of the key: which address space, and which device
    uint64_t start = 0;
    uint64_t end = 0;
    device::Bank* bank = nullptr;
    const Mapping* mapping = nullptr;
    uint64_t life = 0;
    const SubBlocks::Tag* tag = nullptr;
    uint64_t tag_value = 0;

    bool covers(uint64_t who, Va va) const { return owner == who && va.value - start < end - start; }
  };

 public:
  // The memory of a range inside one page that this thread has used before; it stays until the end of this
  // object. Nothing when it is not remembered, or something about it has changed, or it was never written.
  class Use {
   public:
    Use(const AddressSpace& space, Va va, uint64_t size_bytes, uint32_t device) {
      Shortcuts* own = own_;
      if (own == nullptr) return;
      const uint64_t who = owner_of(space, device);
      const Shortcut* known = own->latest_;
      if (!known->covers(who, va)) [[unlikely]] {
        known = own->find(who, va);
        if (known == nullptr) return;
      }
      const uint64_t offset = va.value & (core::kPageBytes - 1);
      if (size_bytes > known->end - va.value || size_bytes > core::kPageBytes - offset) return;
      // Relaxed, all three: the compiler keeps them apart here, the processor is told by who takes it down.
      // What belongs to the life was acquired when it was remembered.
      own->used_.store(known->tag, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      used_by_ = own;
      if (known->mapping->life.load(std::memory_order_relaxed) != known->life ||
          known->tag->load(std::memory_order_relaxed) != known->tag_value) [[unlikely]]
        return;
      const device::PageId page = space.entry(va).page();
      if (known->bank->is_committed(page)) [[likely]]
        memory_ = known->bank->page_memory(page) + offset;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (used_by_ != nullptr) used_by_->used_.store(nullptr, std::memory_order_release);
    }

    std::byte* memory() const { return memory_; }

   private:
    Shortcuts* used_by_ = nullptr;
    std::byte* memory_ = nullptr;
  };

  // The mapping is pinned and the device may use it. `block`: the part of it that was copied with, when it is
  // cut into blocks.
  static void remember(const AddressSpace& space, const Mapping& mapping, uint32_t device, device::Bank& bank,
                       const SubBlocks::Block* block);

  // The mapping is closed to all others: forgets it everywhere. How many threads use it at this moment; while
  // there are any, it is still theirs, and asking again gives the same answer.
  static uint32_t forget(Mapping& mapping);
  // The same for one block among others, closed to all others too.
  static uint32_t forget(BlockUsers& users);

 private:
  static uint64_t owner_of(const AddressSpace& space, uint32_t device) {
    return space.serial() << 32 | device;
  }
  Shortcuts() { latest_ = table_.data(); }  // here, because the table is made after it
  const Shortcut* find(uint64_t who, Va va);
  // Ends the life; how many threads use a tag that is one of those meant.
  template <class IsMeant>
  static uint32_t end(SubBlocks::Tag& life, IsMeant is_meant);
  // A thread takes one at its first copy and leaves it to another when it ends.
  static Shortcuts* claim();
  friend struct ShortcutsEnd;

  [[gnu::tls_model("initial-exec")]] static constinit thread_local Shortcuts* own_;

  alignas(64) std::atomic<const SubBlocks::Tag*> used_{nullptr};  // of the block, or a life
  const Shortcut* latest_ = nullptr;
  Shortcuts* next_ = nullptr;
  std::atomic<bool> claimed_{true};
  uint32_t oldest_ = 0;
  uint16_t number_ = 0;  // of this one among all
  alignas(64) std::array<Shortcut, 8> table_{};
};

}  // namespace plat::vmm
