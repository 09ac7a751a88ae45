// SPDX-License-Identifier: Apache-2.0
// RangeHeap: where in a stretch of address space a block goes, and which pages must be backed for it.
//
// The address space is far larger than the memory behind it. Every range in it is live, free (backed), or a
// hole (not backed, whole pages). A request is served from free ranges in constant time. When none fits,
// plan() names the place that needs the fewest pages brought in; the owner backs them with new memory or with
// pages that lie wholly inside free ranges elsewhere, because a page can be moved to another address where a
// block cannot. So what is lost to fragmentation is only what survivors smaller than a page pin.
//
// Free ranges carry a domain (whose queued work may still touch them) and a batch (how far that work must
// get). Ranges merge only within a domain; domain 0 is memory that nobody touches any more, and only that may
// be moved.
//
// Pure bookkeeping: no memory is touched, no system or device call is made, no lock is taken. May include
// base/ only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/range_bins.h"
#include "core/range_block.h"

namespace plat::core {

struct PageRun {
  uint32_t first = 0;
  uint32_t count = 0;
};

// The answer to "where would this go if pages could be brought in".
struct RangePlan {
  bool found = false;
  uint32_t start = 0;          // granule
  uint32_t size = 0;           // granules
  uint32_t missing_pages = 0;  // holes under it
  uint32_t whole_pages = 0;    // pages under it that nothing else uses, missing ones included
  // The live block before the place; it cannot move while the plan is carried out.
  RangeId anchor = kNoBlock;
};

// A run of wholly free pages and the free range that holds it.
struct MovableRun {
  PageRun pages;
  RangeId block = kNoBlock;
};

class RangeHeap {
 public:
  // Pages have `page` granules, a power of two. There is no address space yet.
  explicit RangeHeap(uint32_t page);
  // Adds `space` granules of address space after what there is, as a hole or, when `backed`, as one free
  // range that never merges with others. Returns its first granule; UINT32_MAX when 32 bits do not reach that
  // far.
  uint32_t append(uint32_t space, bool backed = false);
  // The first record of the space that was appended last; it stays the first one for good.
  RangeId newest() const { return blocks_[last_].prev; }
  // Takes a backed space out, if it is one free range of nobody's.
  bool retire(RangeId first);
  // A space that was taken out comes back, with at most as many granules as it was appended with. Without
  // that, 32 bits would be used up by a program that lives long enough.
  void revive(RangeId first, uint32_t space);

  // A live block of at least `size` granules at a multiple of `align` granules out of free ranges of `domain`
  // or of nobody; kNoBlock when none fits.
  RangeId allocate(uint32_t size, uint32_t align, uint16_t domain);
  void release(RangeId id, uint16_t domain = 0, uint32_t batch = 0);
  // allocate(size, 1, 0) and release(id), which most programs do and nothing else, in few instructions:
  // range_heap_idle.h has them, in line. They leave counting movable pages to who wants to know.
  RangeId allocate_idle(uint32_t size);
  void release_idle(RangeId id);

  // Tries to change a live block's size where it stands. The block is unchanged when it cannot.
  bool resize(RangeId id, uint32_t size, uint16_t domain);

  // Where the block would go if the holes under it were backed. `tight` spends pages rather than map calls as
  // sparingly as it can; while there are few records it compares all places, and then its answer is better
  // than allocate()'s.
  RangePlan plan(uint32_t size, uint32_t align, uint16_t domain, bool tight) const;
  bool few_records() const { return blocks_.count() <= kFewRecords; }
  // Carves the planned range, every page of which is backed by now.
  RangeId take(const RangePlan& plan, uint16_t domain);

  // Makes sure of host memory for the next call below, so that it cannot fail once pages have moved.
  void make_room() { blocks_.make_room(); }
  // The owner has backed a run of pages inside holes / is about to unback a run of pages inside free ranges
  // of nobody.
  void map(PageRun pages);
  void unmap(const MovableRun& run);
  // Holes under a plan, left to right.
  void missing(const RangePlan& plan, std::vector<PageRun>& out) const;
  // A run of at most `limit` wholly free pages that the plan `skip` does not use; count 0 when there is none.
  MovableRun movable(uint32_t limit, const RangePlan& skip) const;

  // Everything of `domain` freed in a batch up to `batch` becomes `to`'s, in its batch `to_batch`; domain 0
  // is nobody. Returns how many ranges changed hands.
  uint32_t settle(uint16_t domain, uint32_t batch, uint16_t to = 0, uint32_t to_batch = 0);

  // Pages that lie wholly inside free ranges of nobody.
  uint32_t movable_pages() const {
    if (must_count_) count_again();
    return noted_movable_pages();
  }
  // The same as of the last time that anybody counted: right as long as nobody takes the short ways above,
  // which do not. May be read without the owner's lock, and relaxed: it shows nothing else, and who acts on
  // it counts under the lock.
  uint32_t noted_movable_pages() const { return movable_pages_.load(std::memory_order_relaxed); }
  uint32_t mapped_pages() const { return mapped_pages_; }
  uint64_t free_granules(uint16_t domain) const {
    return domain == 0 ? idle_.granules : domain < domains_.size() ? domains_[domain]->granules : 0;
  }
  uint32_t page() const { return page_; }

  Block& block(RangeId id) { return blocks_[id]; }
  const Block& block(RangeId id) const { return blocks_[id]; }
  RangeId first_block() const { return first_; }
  uint64_t bookkeeping_bytes() const {
    return blocks_.bookkeeping_bytes() + domains_.size() * sizeof(Domain);
  }

 private:
  struct Domain {
    RangeBins bins;
    uint64_t granules = 0;
  };

  uint32_t page_floor(uint32_t granule) const { return granule & ~(page_ - 1); }
  uint32_t page_ceil(uint32_t granule) const { return (granule + page_ - 1) & ~(page_ - 1); }
  uint32_t whole_pages(uint32_t start, uint32_t size) const {
    const uint32_t low = (start + page_ - 1) >> page_shift_;
    const uint32_t high = (start + size) >> page_shift_;
    return std::max(high, low) - low;
  }
  // Differences may be negative: they wrap around, and the sum is right again.
  void count_movable(uint32_t pages) {
    movable_pages_.store(noted_movable_pages() + pages, std::memory_order_relaxed);
  }
  void count_again() const;
  Domain& domain_at(uint16_t domain) { return domain == 0 ? idle_ : *domains_[domain]; }
  void add_domain(uint16_t domain);
  void insert_free(RangeId id);
  void remove_free(RangeId id);
  void insert_hole(RangeId id);
  void remove_hole(RangeId id);
  // A new record for [at, end of id), which follows `id`; `id` keeps what is below.
  RangeId split(RangeId id, uint32_t at);
  // Swallows the record after `id` into it.
  void absorb_next(RangeId id);
  // Joins a free record, which is in no bin, with equal neighbours and files it.
  void file_free(RangeId id);
  RangeId carve(RangeId id, uint32_t start, uint32_t size);
  RangeId find(uint32_t size, uint16_t domain, uint32_t own_looks, uint32_t next_looks) const;
  RangeId hole_at(uint32_t granule) const;
  bool usable(const Block& block, uint16_t domain) const {
    return block.state == BlockState::kHole ||
           (block.state == BlockState::kFree && (block.domain == 0 || block.domain == domain));
  }
  struct Extent;
  struct RangeWish {
    uint32_t size;
    uint16_t domain;
    bool tight;
  };
  double leftover(uint32_t low, uint32_t high) const;
  void consider(const Extent& extent, uint32_t start, const RangeWish& wish, RangePlan& best,
                uint64_t& best_cost) const;
  void consider_extent(RangeId leftmost, uint32_t align, RangePlan& best, uint64_t& best_cost,
                       const RangeWish& wish) const;

  // How many ranges a search looks at in the bin of the request and in the first larger one that is not
  // empty.
  static constexpr uint32_t kOwnLooks = 8;
  static constexpr uint32_t kNextLooks = 4;
  static constexpr uint32_t kAllLooks = 0;
  // What one request may look at. Among many blocks of many sizes, sparing pages block by block also leaves
  // more remainders than the best fit does.
  static constexpr uint32_t kFewRecords = 1024;
  const uint32_t page_;
  const uint32_t page_shift_;
  BlockTable blocks_;
  Domain idle_;                                   // domain 0, which every program uses
  std::vector<std::unique_ptr<Domain>> domains_;  // by number; [0] is empty
  RangeId first_ = kNoBlock;
  RangeId last_ = kNoBlock;   // the fence at the end
  RangeId holes_ = kNoBlock;  // list of holes through free_prev / free_next
  mutable std::atomic<uint32_t> movable_pages_{0};
  mutable bool must_count_ = false;  // since the last count, a short way was taken
  uint32_t mapped_pages_ = 0;
};

}  // namespace plat::core
