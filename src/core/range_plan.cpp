// SPDX-License-Identifier: Apache-2.0
// The slow half of RangeHeap: where a block goes when no backed range is long enough, and which pages can
// move there.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/range_heap.h"

namespace plat::core {

// A maximal stretch without a live block: free ranges and holes, side by side.
struct RangeHeap::Extent {
  RangeId leftmost;  // block
  uint32_t low;      // granules
  uint32_t high;
};

RangeId RangeHeap::hole_at(uint32_t granule) const {
  for (RangeId id = holes_; id != kNoBlock; id = blocks_[id].free_next) {
    const Block& block = blocks_[id];
    if (block.start <= granule && granule - block.start < block.size) return id;
  }
  assert(false && "no hole there");
  return kNoBlock;
}

// How bad the two ends of a free stretch are that share their pages with live neighbours. The root makes one
// large remainder cheaper than two small ones of the same sum: a large one can still be used.
double RangeHeap::leftover(uint32_t low, uint32_t high) const {
  if (low >= high) return 0;
  auto badness = [&](uint32_t granules) {
    return std::sqrt(std::sqrt(std::sqrt(static_cast<double>(granules) / page_)));
  };
  const uint32_t inner_low = page_ceil(low);
  const uint32_t inner_high = page_floor(high);
  if (inner_low > inner_high) return badness(high - low);
  return badness(inner_low - low) + badness(high - inner_high);
}

void RangeHeap::consider(const Extent& extent, uint32_t start, const RangeWish& wish, RangePlan& best,
                         uint64_t& best_cost) const {
  const uint32_t size = wish.size;
  if (start < extent.low || start > extent.high || extent.high - start < size) return;
  const uint32_t low = page_floor(start);
  const uint32_t high = page_ceil(start + size);
  uint32_t missing = 0;
  for (RangeId id = extent.leftmost; blocks_[id].start < start + size; id = blocks_[id].next) {
    const Block& block = blocks_[id];
    if (block.state != BlockState::kHole) continue;
    const uint32_t from = std::max(low, block.start);
    const uint32_t to = std::min(high, block.start + block.size);
    if (to > from) missing += (to - from) >> page_shift_;
  }
  const uint32_t from = std::max(low, page_ceil(extent.low));
  const uint32_t to = std::min(high, page_floor(extent.high));
  const uint32_t whole = to > from ? (to - from) >> page_shift_ : 0;
  uint64_t cost;
  if (wish.tight) {
    // Fewest pages taken that others could have used; then the layout that leaves the fewest, fullest pages
    // half used.
    const double change =
        leftover(extent.low, start) + leftover(start + size, extent.high) - leftover(extent.low, extent.high);
    cost = (uint64_t{whole} << 44) + (static_cast<uint64_t>((change + 4) * 4000) << 28) + missing;
  } else {
    // Fewest pages brought in; then fewest pages taken that others could have used; then the tightest
    // stretch.
    const uint64_t span = std::min<uint64_t>((extent.high - extent.low) >> page_shift_, 0xffffff);
    cost = (uint64_t{missing} << 44) + (uint64_t{whole} << 24) + span;
  }
  if (best.found && cost >= best_cost) return;
  best = RangePlan{true, start, size, missing, whole, blocks_[extent.leftmost].prev};
  best_cost = cost;
}

void RangeHeap::consider_extent(RangeId leftmost, uint32_t align, RangePlan& best, uint64_t& best_cost,
                                const RangeWish& wish) const {
  auto up = [&](uint32_t granule) { return (granule + align - 1) & ~(align - 1); };
  auto down = [&](uint32_t granule) { return granule & ~(align - 1); };
  RangeId last = leftmost;
  while (usable(blocks_[blocks_[last].next], wish.domain)) last = blocks_[last].next;
  const Extent extent{leftmost, blocks_[leftmost].start, blocks_[last].start + blocks_[last].size};
  if (extent.high - extent.low < wish.size) return;
  const bool frontier = blocks_[blocks_[last].next].state == BlockState::kFence;
  consider(extent, up(extent.low), wish, best, best_cost);
  if (!frontier) consider(extent, down(extent.high - wish.size), wish, best, best_cost);
  for (RangeId id = leftmost;; id = blocks_[id].next) {
    const Block& block = blocks_[id];
    if (block.state == BlockState::kFree) {
      consider(extent, up(block.start), wish, best, best_cost);
      if (block.start + block.size >= wish.size)
        consider(extent, down(block.start + block.size - wish.size), wish, best, best_cost);
    }
    if (id == last) break;
  }
}

RangePlan RangeHeap::plan(uint32_t size, uint32_t align, uint16_t domain, bool tight) const {
  RangePlan best;
  uint64_t best_cost = 0;
  const RangeWish wish{size, domain, tight};
  if (tight && few_records()) {
    // Every stretch counts, also one that is wholly backed: its whole pages may be worth more elsewhere.
    for (RangeId id = first_; id != kNoBlock; id = blocks_[id].next) {
      const RangeId prev = blocks_[id].prev;
      if (usable(blocks_[id], domain) && (prev == kNoBlock || !usable(blocks_[prev], domain)))
        consider_extent(id, align, best, best_cost, wish);
    }
    return best;
  }
  for (RangeId hole = holes_; hole != kNoBlock; hole = blocks_[hole].free_next) {
    RangeId leftmost = hole;
    bool seen = false;
    for (RangeId prev = blocks_[hole].prev; prev != kNoBlock && usable(blocks_[prev], domain);
         prev = blocks_[prev].prev) {
      seen = seen || blocks_[prev].state == BlockState::kHole;  // that hole stands for the whole stretch
      leftmost = prev;
    }
    if (!seen) consider_extent(leftmost, align, best, best_cost, wish);
  }
  return best;
}

void RangeHeap::missing(const RangePlan& plan, std::vector<PageRun>& out) const {
  const uint32_t low = page_floor(plan.start);
  const uint32_t high = page_ceil(plan.start + plan.size);
  RangeId id = plan.anchor == kNoBlock ? first_ : plan.anchor;
  for (; id != kNoBlock && blocks_[id].start < high; id = blocks_[id].next) {
    const Block& block = blocks_[id];
    if (block.state != BlockState::kHole) continue;
    const uint32_t from = std::max(low, block.start);
    const uint32_t to = std::min(high, block.start + block.size);
    if (to > from) out.push_back(PageRun{from >> page_shift_, (to - from) >> page_shift_});
  }
}

RangeId RangeHeap::take(const RangePlan& plan, uint16_t domain) {
  blocks_.make_room();
  RangeId id = plan.anchor == kNoBlock ? first_ : plan.anchor;
  while (blocks_[id].start + blocks_[id].size <= plan.start) id = blocks_[id].next;
  const uint32_t end = plan.start + plan.size;
  // The place may span ranges of nobody and of the stream's own that do not merge: each gives its part.
  const Block& head = blocks_[id];
  RangeId taken = carve(id, plan.start, std::min(end, head.start + head.size) - plan.start);
  while (blocks_[taken].start + blocks_[taken].size < end) {
    const RangeId next = blocks_[taken].next;
    assert(blocks_[next].state == BlockState::kFree && usable(blocks_[next], domain));
    carve(next, blocks_[next].start, std::min(end - blocks_[next].start, blocks_[next].size));
    absorb_next(taken);
  }
  (void)domain;
  return taken;
}

MovableRun RangeHeap::movable(uint32_t limit, const RangePlan& skip) const {
  const uint32_t skip_low = skip.found ? page_floor(skip.start) : 0;
  const uint32_t skip_high = skip.found ? page_ceil(skip.start + skip.size) : 0;
  MovableRun run;
  idle_.bins.walk_down(blocks_.records(), [&](RangeId id) {
    const Block& block = blocks_[id];
    uint32_t low = page_ceil(block.start);
    uint32_t high = page_floor(block.start + block.size);
    if (low < skip_high && high > skip_low) {
      // The plan lies inside or at the edge: what it leaves on either side may still move.
      if (skip_low > low)
        high = skip_low;
      else
        low = std::min(high, skip_high);
    }
    if (high <= low) return true;
    const uint32_t count = std::min(limit, (high - low) >> page_shift_);
    run = MovableRun{{(high >> page_shift_) - count, count}, id};
    return false;
  });
  return run;
}

}  // namespace plat::core
