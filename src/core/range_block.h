// SPDX-License-Identifier: Apache-2.0
// Block and BlockTable: the records of a heap's ranges, kept beside the memory they describe and never in it.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/id.h"

namespace plat::core {

using RangeId = Id<struct RangeKind>;  // a range, by its record in the heap

inline constexpr RangeId kNoBlock = RangeId::none();
// Ends the lists of bins. It names a record that is nobody's, so that linking and unlinking write to it
// instead of asking: what a free range has beside it nobody can guess, the processor neither.
inline constexpr RangeId kListEnd(0);

// Granules are 512 bytes: 32 bits of them span 2 TiB, and blocks that small are not placed one by one anyway.
inline constexpr uint32_t kGranuleShift = 9;
inline constexpr uint64_t kGranuleBytes = 1u << kGranuleShift;

enum class BlockState : uint8_t {
  kLive,   // handed out
  kFree,   // free, and every page under it is backed
  kHole,   // free address space with no page behind it; always whole pages
  kFence,  // the end of an address range; never merges
};

// One record for each range of a heap; neighbours in address order are linked, so freeing merges without a
// search.
struct Block {
  uint32_t start;     // in granules
  uint32_t size;      // in granules
  RangeId prev;       // address order
  RangeId next;       // address order
  RangeId free_prev;  // bin list while free; the owner's word while live
  RangeId free_next;
  uint32_t batch;  // while free: the batch of frees on its stream that it belongs to
  BlockState state;
  uint8_t unused = 0;
  uint16_t domain;  // while free: whose ordered work may still touch it; 0 = nobody's

  uint64_t word() const { return free_prev.value | uint64_t{free_next.value} << 32; }
  void set_word(uint64_t word) {
    free_prev = RangeId(static_cast<uint32_t>(word));
    free_next = RangeId(static_cast<uint32_t>(word >> 32));
  }
  void set_idle() {
    batch = 0;
    state = BlockState::kFree;
    unused = 0;
    domain = 0;
  }
  bool is_idle() const { return state == BlockState::kFree && domain == 0; }
};
static_assert(sizeof(Block) == 32, "a million blocks must stay within one percent of what they manage");

// The records of a heap in one array. It grows by doubling, which moves page tables rather than records once
// it is large; a reference is good only until the next make_room().
class BlockTable {
 public:
  BlockTable() = default;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;
  ~BlockTable() { std::free(records_); }

  Block& operator[](RangeId id) { return records_[id.value]; }
  const Block& operator[](RangeId id) const { return records_[id.value]; }

  Block* records() { return records_; }
  const Block* records() const { return records_; }

  // What one call may need. References to records are lost; throws std::bad_alloc when the host has no memory
  // for more, which is why every call begins with it, before it changes anything.
  void make_room() {
    if (!has_room()) grow();
  }
  bool has_room() const { return capacity_ - used_ >= kMostOfOneCall; }
  // Whether the next create() is sure to find a record.
  bool has_one() const { return recycled_ != kNoBlock || used_ < capacity_; }
  RangeId create() {
    assert(has_one());
    ++count_;
    const RangeId id = recycled_;
    if (id == kNoBlock) [[unlikely]]
      return RangeId(used_++);
    recycled_ = records_[id.value].next;
    return id;
  }

  void recycle(RangeId id) {
    --count_;
    records_[id.value].next = recycled_;
    recycled_ = id;
  }

  uint32_t count() const { return count_; }
  uint64_t bookkeeping_bytes() const { return uint64_t{capacity_} * sizeof(Block); }

 private:
  static constexpr uint32_t kMostOfOneCall = 4;
  void grow() {
    const uint32_t capacity = capacity_ == 1 ? 64 : capacity_ * 2;
    void* records = std::realloc(static_cast<void*>(records_), uint64_t{capacity} * sizeof(Block));
    if (records == nullptr) throw std::bad_alloc();
    records_ = static_cast<Block*>(records);
    capacity_ = capacity;
  }
  Block* records_ = nullptr;
  uint32_t capacity_ = 1;
  uint32_t used_ = 1;   // the first is kListEnd
  uint32_t count_ = 0;  // in use
  RangeId recycled_ = kNoBlock;
};

}  // namespace plat::core
