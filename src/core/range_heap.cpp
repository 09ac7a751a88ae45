// SPDX-License-Identifier: Apache-2.0
#include "core/range_heap.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace plat::core {

RangeHeap::RangeHeap(uint32_t page)
    : page_(page), page_shift_(static_cast<uint32_t>(std::countr_zero(page))) {}

uint32_t RangeHeap::append(uint32_t space, bool backed) {
  uint32_t start = 0;
  if (last_ != kNoBlock)
    start = blocks_[last_].start + page_;  // the fence takes a page: ranges on its two sides never touch
  if (space == 0 || space > UINT32_MAX - 2 * page_ - start) return UINT32_MAX;
  blocks_.make_room();
  const RangeId id = blocks_.create();
  const RangeId fence = blocks_.create();
  blocks_[id] = Block{start, space, last_, fence, kNoBlock, kNoBlock, 0, BlockState::kHole, 0, 0};
  const uint32_t end = page_ceil(start + space);
  blocks_[fence] = Block{end, page_, id, kNoBlock, kNoBlock, kNoBlock, 0, BlockState::kFence, 0, 0};
  if (last_ != kNoBlock)
    blocks_[last_].next = id;
  else
    first_ = id;
  last_ = fence;
  if (backed) {
    blocks_[id].state = BlockState::kFree;
    insert_free(id);
  } else {
    insert_hole(id);
  }
  return start;
}

bool RangeHeap::retire(RangeId first) {
  Block& block = blocks_[first];
  if (block.state != BlockState::kFree || block.domain != 0 ||
      blocks_[block.next].state != BlockState::kFence)
    return false;
  remove_free(first);
  block.state = BlockState::kFence;
  return true;
}

void RangeHeap::revive(RangeId first, uint32_t space) {
  Block& block = blocks_[first];
  assert(block.state == BlockState::kFence && space <= blocks_[block.next].start - block.start);
  block.size = space;
  block.batch = 0;
  block.state = BlockState::kFree;
  insert_free(first);
}

void RangeHeap::add_domain(uint16_t domain) {
  while (domains_.size() <= domain)
    domains_.push_back(domains_.empty() ? nullptr : std::make_unique<Domain>());
}

void RangeHeap::insert_free(RangeId id) {
  const Block& block = blocks_[id];
  Domain& domain = domain_at(block.domain);
  domain.bins.insert(blocks_.records(), id);
  domain.granules += block.size;
  if (block.domain == 0) count_movable(whole_pages(block.start, block.size));
}

void RangeHeap::remove_free(RangeId id) {
  const Block& block = blocks_[id];
  Domain& domain = domain_at(block.domain);
  domain.bins.remove(blocks_.records(), id);
  domain.granules -= block.size;
  if (block.domain == 0) count_movable(0 - whole_pages(block.start, block.size));
}

void RangeHeap::count_again() const {
  uint32_t pages = 0;
  // Bins come in falling order, and one of them begins with the size of a page.
  idle_.bins.walk_down(blocks_.records(), [&](RangeId id) {
    pages += whole_pages(blocks_[id].start, blocks_[id].size);
    return blocks_[id].size >= page_;
  });
  movable_pages_.store(pages, std::memory_order_relaxed);
  must_count_ = false;
}

void RangeHeap::insert_hole(RangeId id) {
  Block& block = blocks_[id];
  block.free_prev = kNoBlock;
  block.free_next = holes_;
  if (holes_ != kNoBlock) blocks_[holes_].free_prev = id;
  holes_ = id;
}

void RangeHeap::remove_hole(RangeId id) {
  const Block& block = blocks_[id];
  if (block.free_next != kNoBlock) blocks_[block.free_next].free_prev = block.free_prev;
  if (block.free_prev != kNoBlock)
    blocks_[block.free_prev].free_next = block.free_next;
  else
    holes_ = block.free_next;
}

RangeId RangeHeap::split(RangeId id, uint32_t at) {
  const RangeId upper = blocks_.create();
  Block& low = blocks_[id];
  Block& high = blocks_[upper];
  high = low;
  high.start = at;
  high.size = low.start + low.size - at;
  high.prev = id;
  low.size = at - low.start;
  if (low.next != kNoBlock) blocks_[low.next].prev = upper;
  low.next = upper;
  return upper;
}

void RangeHeap::absorb_next(RangeId id) {
  Block& block = blocks_[id];
  const RangeId gone = block.next;
  const Block& other = blocks_[gone];
  block.size += other.size;
  block.batch = std::max(block.batch, other.batch);
  block.next = other.next;
  if (block.next != kNoBlock) blocks_[block.next].prev = id;
  blocks_.recycle(gone);
}

void RangeHeap::file_free(RangeId id) {
  Block& block = blocks_[id];
  Domain& domain = domain_at(block.domain);
  domain.granules += block.size;
  auto merges = [&](RangeId other) {
    return blocks_[other].state == BlockState::kFree && blocks_[other].domain == block.domain;
  };
  uint32_t separate = 0;  // whole pages that its neighbours have by themselves
  const RangeId next = block.next;
  const RangeId prev = block.prev;
  const bool with_next = merges(next);
  if (with_next) separate += whole_pages(blocks_[next].start, blocks_[next].size);
  if (prev != kNoBlock && merges(prev)) {
    const uint32_t old_size = blocks_[prev].size;
    separate += whole_pages(blocks_[prev].start, old_size);
    if (with_next) {
      domain.bins.remove(blocks_.records(), next);
      absorb_next(id);
    }
    absorb_next(prev);
    domain.bins.refile(blocks_.records(), prev, RangeBins::bin_of(old_size));
    id = prev;
  } else if (with_next) {
    const uint32_t old_size = blocks_[next].size;
    absorb_next(id);
    domain.bins.inherit(blocks_.records(), next, RangeBins::bin_of(old_size), id);
  } else {
    domain.bins.insert(blocks_.records(), id);
  }
  if (blocks_[id].domain == 0) count_movable(whole_pages(blocks_[id].start, blocks_[id].size) - separate);
}

RangeId RangeHeap::find(uint32_t size, uint16_t domain, uint32_t own_looks, uint32_t next_looks) const {
  const RangeId clean = idle_.bins.look(blocks_.records(), size, own_looks, next_looks).id;
  if (domain == 0 || domain >= domains_.size()) return clean;
  const RangeId own = domains_[domain]->bins.look(blocks_.records(), size, own_looks, next_looks).id;
  if (own == kNoBlock) return clean;
  // Equal fits go to the stream's own memory: the rest stays usable by everybody.
  return clean == kNoBlock || blocks_[own].size <= blocks_[clean].size ? own : clean;
}

// `id` is free and filed; [start, start + size) lies inside it.
RangeId RangeHeap::carve(RangeId id, uint32_t start, uint32_t size) {
  if (blocks_[id].start < start) {
    remove_free(id);
    const RangeId upper = split(id, start);
    insert_free(id);
    insert_free(upper);
    id = upper;
  }
  const Block block = blocks_[id];  // a copy: splitting changes it
  Domain& domain = domain_at(block.domain);
  domain.granules -= size;
  if (block.domain == 0)
    count_movable(whole_pages(start + size, block.size - size) - whole_pages(start, block.size));
  if (block.size > size) {
    const RangeId rest = split(id, start + size);
    domain.bins.inherit(blocks_.records(), id, RangeBins::bin_of(block.size), rest);
  } else {
    domain.bins.remove(blocks_.records(), id);
  }
  blocks_[id].state = BlockState::kLive;
  return id;
}

RangeId RangeHeap::allocate(uint32_t size, uint32_t align, uint16_t domain) {
  blocks_.make_room();
  // A range longer by the alignment always has an aligned place inside; a shorter one may have.
  RangeId id = find(size, domain, kOwnLooks, kNextLooks);
  if (id == kNoBlock) id = find(size, domain, kAllLooks, kNextLooks);
  if (id == kNoBlock) return kNoBlock;
  auto place = [&](RangeId candidate, uint32_t& start) {
    const Block& block = blocks_[candidate];
    start = (block.start + align - 1) & ~(align - 1);
    return start + size <= block.start + block.size;
  };
  uint32_t start = 0;
  if (!place(id, start)) {
    id = find(size + align - 1, domain, kAllLooks, kNextLooks);
    if (id == kNoBlock || !place(id, start)) return kNoBlock;
  }
  return carve(id, start, size);
}

void RangeHeap::release(RangeId id, uint16_t domain, uint32_t batch) {
  if (domain >= domains_.size() && domain != 0) add_domain(domain);
  Block& block = blocks_[id];
  assert(block.state == BlockState::kLive);
  block.state = BlockState::kFree;
  block.domain = domain;
  block.batch = batch;
  file_free(id);
}

bool RangeHeap::resize(RangeId id, uint32_t size, uint16_t domain) {
  blocks_.make_room();
  if (domain != 0) add_domain(domain);
  const Block block = blocks_[id];  // a copy: splitting changes it
  if (size < block.size) {
    const RangeId rest = split(id, block.start + size);
    blocks_[rest].state = BlockState::kFree;
    blocks_[rest].domain = domain;
    file_free(rest);
    return true;
  }
  if (size == block.size) return true;
  const RangeId next = block.next;
  const Block after = blocks_[next];
  if (after.state != BlockState::kFree || !usable(after, domain) || block.size + after.size < size)
    return false;
  remove_free(next);
  if (block.size + after.size > size) insert_free(split(next, block.start + size));
  const uint32_t batch = block.batch;
  absorb_next(id);
  blocks_[id].batch = batch;
  return true;
}

void RangeHeap::map(PageRun pages) {
  blocks_.make_room();
  const uint32_t start = pages.first << page_shift_;
  const uint32_t size = pages.count << page_shift_;
  RangeId id = hole_at(start);
  remove_hole(id);
  if (blocks_[id].start < start) {
    const RangeId upper = split(id, start);
    insert_hole(id);
    id = upper;
  }
  if (blocks_[id].size > size) insert_hole(split(id, start + size));
  Block& block = blocks_[id];
  block.state = BlockState::kFree;
  block.domain = 0;
  block.batch = 0;
  mapped_pages_ += pages.count;
  file_free(id);
}

void RangeHeap::unmap(const MovableRun& run) {
  blocks_.make_room();
  const PageRun pages = run.pages;
  const uint32_t start = pages.first << page_shift_;
  const uint32_t size = pages.count << page_shift_;
  RangeId id = run.block;
  id = carve(id, start, size);
  Block& block = blocks_[id];
  block.state = BlockState::kHole;
  block.domain = 0;
  mapped_pages_ -= pages.count;
  if (blocks_[block.next].state == BlockState::kHole) {
    remove_hole(block.next);
    absorb_next(id);
  }
  if (const RangeId prev = block.prev; prev != kNoBlock && blocks_[prev].state == BlockState::kHole) {
    remove_hole(prev);
    absorb_next(prev);
    id = prev;
  }
  insert_hole(id);
}

uint32_t RangeHeap::settle(uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch) {
  if (domain == 0 || domain >= domains_.size()) return 0;
  if (to != 0) add_domain(to);
  std::vector<RangeId> settled;
  domains_[domain]->bins.walk_down(blocks_.records(), [&](RangeId id) {
    if (static_cast<int32_t>(blocks_[id].batch - batch) <= 0) settled.push_back(id);
    return true;
  });
  for (RangeId id : settled) {
    remove_free(id);
    blocks_[id].state = BlockState::kLive;  // so that filing one does not swallow another that is in no bin
    blocks_[id].domain = to;
    blocks_[id].batch = to_batch;
  }
  for (RangeId id : settled) {
    blocks_[id].state = BlockState::kFree;
    file_free(id);
  }
  return static_cast<uint32_t>(settled.size());
}

}  // namespace plat::core
