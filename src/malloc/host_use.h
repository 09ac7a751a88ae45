// SPDX-License-Identifier: Apache-2.0
// HostUse: page-locked memory that a copy uses, and that cannot be freed meanwhile.
//
// As with device memory (vmm/shortcuts.h) a thread remembers the blocks that it used last, and only notes in
// a place of its own that it uses one, with no barrier; whoever frees a block that another thread may
// remember ends its life, raises a barrier in all threads, and looks there. Where the system has no such
// barrier, users are counted.
#pragma once

#include <array>
#include <atomic>

#include "base/units.h"

namespace plat::malloc {

struct HostBlock {
  // A number that grows, and below it who remembers the block: nobody, one thread by its number, or several.
  // All of its accesses are relaxed: who remembers the block and who ends its life are ordered by the heap's
  // mutex, and who only uses what he remembers by the process barrier (tests/model/host_use_test.cpp).
  std::atomic<uint64_t> life{0};
  std::atomic<uint32_t> users{0};  // that are counted
  uint64_t start = 0;
  uint64_t size_bytes = 0;   // rounded as the call does
  uint64_t asked_bytes = 0;  // by the client
  uint32_t index = 0;
};

class HostUse {
 public:
  // A copy may use two blocks.
  enum Side : uint8_t { Target, Source };

  HostUse() = default;
  HostUse(const HostUse&) = delete;
  HostUse& operator=(const HostUse&) = delete;
  ~HostUse() {
    if (note_ != nullptr) note_->store(nullptr, std::memory_order_release);
    if (counted_ != nullptr) counted_->users.fetch_sub(1, std::memory_order_release);
  }

  // Takes a range of a block that this thread remembers. False when it does not, or the block is gone.
  bool take_again(uint64_t heap, Va va, uint64_t size_bytes, Side side) {
    Notes* own = own_;
    if (own == nullptr) return false;
    const Known& known = own->known[slot_of(va)];
    if (known.heap != heap || va.value - known.start >= known.size_bytes ||
        size_bytes > known.size_bytes - (va.value - known.start))
      return false;
    // Looked at before the note too: a note of what lies in the place of the block by now would keep that one
    // from being freed.
    if (known.block->life.load(std::memory_order_relaxed) != known.life) return false;
    note(own->used[side], known.block);
    return known.block->life.load(std::memory_order_relaxed) == known.life;
  }
  // The caller keeps the block from being freed until this returns.
  void take(uint64_t heap, HostBlock& block, Va va, Side side);

  // The block cannot be taken any more, but by those who remember it: whether one of them uses it.
  static bool is_used(HostBlock& block);

 private:
  struct Known {
    uint64_t heap = 0;
    uint64_t start = 0;
    uint64_t size_bytes = 0;
    HostBlock* block = nullptr;
    uint64_t life = 0;
  };
  struct Notes {
    alignas(64) std::array<std::atomic<const HostBlock*>, 2> used{};
    std::array<Known, 8> known{};
    Notes* next = nullptr;
    std::atomic<bool> claimed{true};
    uint16_t number = 0;
  };
  static size_t slot_of(Va va) { return va.value >> 12 & 7; }
  void note(std::atomic<const HostBlock*>& place, const HostBlock* block) {
    place.store(block, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the processor is told by who frees the block
    note_ = &place;
  }
  static Notes* claim();
  friend struct HostUseEnd;

  [[gnu::tls_model("initial-exec")]] static constinit thread_local Notes* own_;
  static std::atomic<Notes*> first_;  // of all threads; none is ever freed

  std::atomic<const HostBlock*>* note_ = nullptr;
  HostBlock* counted_ = nullptr;
};

}  // namespace plat::malloc
