// SPDX-License-Identifier: Apache-2.0
// What most programs do with a heap, and nothing else: blocks out of memory that nobody touches any more, and
// back. In line, so that its owner finds the record once for itself and for the heap.
#pragma once

#include "core/range_heap.h"

namespace plat::core {

[[gnu::always_inline]] inline RangeId RangeHeap::allocate_idle(uint32_t size) {
  Block* const blocks = blocks_.records();
  RangeBins& bins = idle_.bins;
  const RangeBins::Found found = bins.look(blocks, size, kOwnLooks, kNextLooks);
  const RangeId id = found.id;
  if (id == kNoBlock || !blocks_.has_one()) [[unlikely]]
    return allocate(size, 1, 0);
  Block& block = blocks[id.value];
  const uint32_t start = block.start;
  const uint32_t rest = block.size - size;
  idle_.granules -= size;
  must_count_ = true;
  if (rest == 0) {
    bins.unlink(blocks, id, found.bin);
    block.state = BlockState::kLive;
    return id;
  }
  const RangeId upper = blocks_.create();
  Block& high = blocks[upper.value];
  const RangeId next = block.next;
  high.start = start + size;
  high.size = rest;
  high.prev = id;
  high.next = next;
  high.set_idle();
  blocks[next.value].prev = upper;
  block.next = upper;
  block.size = size;
  block.state = BlockState::kLive;
  bins.inherit(blocks, id, found.bin, upper);
  return id;
}

[[gnu::always_inline]] inline void RangeHeap::release_idle(RangeId id) {
  Block* const blocks = blocks_.records();
  RangeBins& bins = idle_.bins;
  Block& block = blocks[id.value];
  assert(block.state == BlockState::kLive);
  const RangeId prev = block.prev;
  const RangeId next = block.next;
  uint32_t size = block.size;
  idle_.granules += size;
  Block& after = blocks[next.value];
  must_count_ = true;
  if (prev != kNoBlock && blocks[prev.value].is_idle()) {
    Block& before = blocks[prev.value];
    const uint32_t bin = RangeBins::bin_of(before.size);
    size += before.size;
    blocks_.recycle(id);
    RangeId beyond = next;
    if (after.is_idle()) {
      bins.unlink(blocks, next, RangeBins::bin_of(after.size));
      size += after.size;
      beyond = after.next;
      blocks_.recycle(next);
    }
    before.size = size;
    before.next = beyond;
    blocks[beyond.value].prev = prev;
    bins.refile(blocks, prev, bin);
    return;
  }
  block.set_idle();
  if (after.is_idle()) {
    const uint32_t bin = RangeBins::bin_of(after.size);
    size += after.size;
    block.size = size;
    const RangeId beyond = after.next;
    block.next = beyond;
    blocks[beyond.value].prev = id;
    bins.inherit(blocks, next, bin, id);
    blocks_.recycle(next);
  } else {
    bins.insert(blocks, id);
  }
}

}  // namespace plat::core
