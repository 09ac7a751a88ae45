// Block and BlockTable: the records of a heap's ranges, kept beside the memory they describe and never in it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace plat::core {

inline constexpr uint32_t kNoBlock = UINT32_MAX;

// Granules are 512 bytes: 32 bits of them span 2 TiB, and blocks that small are not placed one by one anyway.
inline constexpr uint32_t kGranuleShift = 9;
inline constexpr uint64_t kGranuleBytes = 1u << kGranuleShift;

enum class BlockState : uint8_t {
  kLive,   // handed out
  kFree,   // free, and every page under it is backed
  kHole,   // free address space with no page behind it; always whole pages
  kFence,  // the end of an address range; never merges
};

// One record for each range of a heap; neighbours in address order are linked, so freeing merges without a search.
struct Block {
  uint32_t start;      // in granules
  uint32_t size;       // in granules
  uint32_t prev;       // address order
  uint32_t next;       // address order
  uint32_t free_prev;  // bin list while free; the owner's word while live
  uint32_t free_next;
  uint32_t batch;     // while free: the batch of frees on its stream that it belongs to
  BlockState state;
  uint8_t mark;       // the owner's byte while live
  uint16_t domain;    // while free: whose ordered work may still touch it; 0 = nobody's
};
static_assert(sizeof(Block) == 32, "a million blocks must stay within one percent of what they manage");

// Records in slabs that never move, so a reference stays good while others are created.
class BlockTable {
 public:
  Block& operator[](uint32_t id) { return slabs_[id >> kSlabShift][id & (kSlab - 1)]; }
  const Block& operator[](uint32_t id) const { return slabs_[id >> kSlabShift][id & (kSlab - 1)]; }

  // kNoBlock when the host has no memory for another slab.
  uint32_t create() {
    if (recycled_ != kNoBlock) {
      const uint32_t id = recycled_;
      recycled_ = (*this)[id].next;
      --spare_;
      return id;
    }
    if (used_ == slabs_.size() * kSlab) slabs_.push_back(std::make_unique<Block[]>(kSlab));
    return used_++;
  }

  void recycle(uint32_t id) {
    (*this)[id].next = recycled_;
    recycled_ = id;
    ++spare_;
  }

  uint32_t in_use() const { return used_ - spare_; }
  uint64_t bookkeeping_bytes() const { return slabs_.size() * kSlab * sizeof(Block); }

 private:
  static constexpr uint32_t kSlabShift = 10;
  static constexpr uint32_t kSlab = 1u << kSlabShift;
  std::vector<std::unique_ptr<Block[]>> slabs_;
  uint32_t used_ = 0;
  uint32_t spare_ = 0;
  uint32_t recycled_ = kNoBlock;
};

}  // namespace plat::core
