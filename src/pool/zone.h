// SPDX-License-Identifier: Apache-2.0
// Zone: one heap of blocks with the address space and the pages under it. A pool has one for large blocks,
// one for spans, one for each tag, and one for each thread that was found waiting for another.
//
// Everything but lock() needs the lock. Pages move between zones only under the pool's growth lock.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/range_heap.h"
#include "pool/held.h"
#include "pool/lock.h"
#include "pool/space.h"
#include "pool/spans.h"
#include "pool/streams.h"

namespace plat::pool {

class Zone {
 public:
  // Where blocks may be shorter than a slice, slices are granules. `tally` counts what is used of several
  // zones together.
  Zone(const SpaceIndex& index, uint16_t tag, bool with_spans, bool short_blocks,
       std::atomic<uint64_t>* tally)
      : index_(index),
        tally_(tally),
        tag_(tag),
        slice_shift_(short_blocks ? core::kGranuleShift : kSliceShift) {
    if (with_spans) spans_ = std::make_unique<Spans>();
  }
  // The least that a block may have: no two start in one slice.
  uint32_t least_granules() const { return 1u << (slice_shift_ - core::kGranuleShift); }

  SpinLock& lock() { return lock_; }
  core::RangeHeap& heap() { return heap_; }
  const core::RangeHeap& heap() const { return heap_; }
  Spans* spans() { return spans_.get(); }
  uint16_t tag() const { return tag_; }

  // Adds a space of at most `bytes`; `backed` for a block of the device that is there as a whole. Null when 2
  // TiB are used up. The places, and the record, of a space that is gone are used again.
  Space* add_space(char* base, uint64_t bytes, bool backed);
  Space& space_of(uint32_t granule) const {
    // Most zones have one or two.
    if (granule >= newest_->first_granule) [[likely]]
      return *newest_;
    if (granule < spaces_[1]->first_granule) return *spaces_.front();
    return search(granule);
  }
  void* address_of(core::RangeId block) const {
    return space_of(heap_.block(block).start).address_of(heap_.block(block).start);
  }
  const std::vector<std::unique_ptr<Space>>& spaces() const { return spaces_; }

  // A block was placed / goes: keeps the table of starts and the counts. `asked` is what the caller wanted.
  [[gnu::always_inline]] void* open(core::RangeId block, uint64_t asked) {
    const core::Block& record = heap_.block(block);
    Space& space = space_of(record.start);
    const uint64_t offset = space.offset_at(record.start);
    if (spans_ == nullptr) [[likely]]
      space.starts.put(offset, block);
    set_asked(block, asked);
    count(record.size);
    ++live_blocks_;
    return space.base + offset;
  }
  void close(Space& space, core::RangeId block) {
    if (spans_ == nullptr) [[likely]]
      *note_of(space, space.offset_at(heap_.block(block).start)) = {};
    count_closed(block);
  }
  // The live block that starts at the address is closed; kNoBlock when there is none. Not where spans are.
  [[gnu::always_inline]] core::RangeId close_at(Space& space, const void* address) {
    const uint64_t offset = space.offset_of(address);
    if (offset >= space.bytes) [[unlikely]]
      return core::kNoBlock;  // it is another by now
    Starts::Note* const note = note_of(space, offset);
    if (note == nullptr) [[unlikely]]
      return core::kNoBlock;
    const core::RangeId block = **note;
    *note = {};
    count_closed(block);
    return block;
  }
  // A live block has another size, where that is possible.
  bool resize(core::RangeId block, uint32_t granules, uint64_t asked) {
    const uint64_t before = heap_.block(block).size;
    if (!heap_.resize(block, granules, 0)) return false;
    set_asked(block, asked);
    count(heap_.block(block).size - before);
    return true;
  }
  // The live block that starts at the address; kNoBlock when there is none. Not where spans are.
  core::RangeId find(const Space& space, const void* address) const {
    const uint64_t offset = space.offset_of(address);
    if (offset >= space.bytes) return core::kNoBlock;  // it is another by now
    const Starts::Note* const note = note_of(space, offset);
    return note != nullptr ? **note : core::kNoBlock;
  }
  uint64_t asked(core::RangeId block) const { return heap_.block(block).word(); }
  void set_asked(core::RangeId block, uint64_t bytes) { heap_.block(block).set_word(bytes); }

  // Where spans are: one is made of a block, or given up; a block of one comes back, and waits for the stream
  // of its domain; the blocks that threads returned, and spans that are empty, are given up.
  void cut_span(uint32_t index, core::RangeId block);
  void drop_span(uint32_t span);
  void put_back(uint32_t index, void* address, uint16_t domain, Streams& streams);
  void reclaim_spans();

  // What was freed on a domain in a batch up to `batch` becomes another's, or nobody's.
  void settle(uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch);
  // Every block is freed.
  void release_all();
  // The live blocks of a space, in order of addresses but for those of spans; the one around an address.
  struct LiveBlock {
    const char* address;
    uint64_t bytes;  // with the tail
  };
  void list_live(const Space& space, std::vector<LiveBlock>& out) const;
  std::optional<LiveBlock> block_around(const Space& space, const void* address) const;
  // The stretches of a space that have memory behind them. `tail`: how much of a small block is no payload.
  void list_held(const Space& space, uint32_t tail, std::vector<HeldRange>& out) const;

  void*& page(uint32_t page_index) {
    const Space& space = space_of(page_index * heap_.page());
    return space.pages[page_index - space.first_granule / heap_.page()];
  }
  char* page_address(uint32_t page_index) {
    return space_of(page_index * heap_.page()).address_of(page_index * heap_.page());
  }

  // Relaxed: it is written under the lock. Without it, it is an estimate.
  uint64_t used_granules() const { return used_granules_.load(std::memory_order_relaxed); }
  uint64_t used_bytes() const { return used_granules() << core::kGranuleShift; }
  uint64_t table_bytes() const;
  uint64_t live_blocks() const { return live_blocks_; }
  // The same of what is there: blocks that sleep hold no memory.
  uint64_t awake_bytes() const { return is_asleep() ? 0 : used_bytes(); }
  // What it may use before that can be a new peak of the pool; see Zones::look_for_peak().
  uint64_t peak_from_granules() const { return peak_from_granules_.load(std::memory_order_relaxed); }
  void set_peak_from_granules(uint64_t granules) {
    peak_from_granules_.store(granules, std::memory_order_relaxed);
  }
  // Written under the lock and the growth lock. Without either it is an estimate, which may be old, and
  // whoever takes memory because of it looks again under the lock.
  bool is_asleep() const { return asleep_.load(std::memory_order_relaxed); }
  void set_asleep(bool asleep) {
    if (asleep == is_asleep()) return;
    if (tally_ != nullptr) asleep ? tally_->fetch_sub(used_bytes()) : tally_->fetch_add(used_bytes());
    asleep_ = asleep;
  }

 private:
  LiveBlock live(core::RangeId block) const {
    return {static_cast<const char*>(address_of(block)),
            uint64_t{heap_.block(block).size} << core::kGranuleShift};
  }
  void list_slots(const Span& span, const Space& space, uint32_t tail, HeldRange& out) const;
  Starts::Note* note_of(const Space& space, uint64_t offset) const {
    return space.starts.find(
        offset, [&](core::RangeId block) { return space.offset_at(heap_.block(block).start) == offset; });
  }
  void count_closed(core::RangeId block) {
    count(uint64_t{0} - heap_.block(block).size);
    --live_blocks_;
  }
  Space& search(uint32_t granule) const;
  Space* gone_space(uint64_t bytes) const;
  Space* revive(Space& space, char* base, uint64_t bytes);
  // Differences may be negative: they wrap around, and the sum is right again. Under the lock: a load and a
  // store do, and the tally, which zones have in common, loses nothing. What is read without a lock is one
  // number, with nothing that it shows.
  void count(uint64_t granules) {
    used_granules_.store(used_granules() + granules, std::memory_order_relaxed);
    if (tally_ != nullptr && !is_asleep())
      tally_->fetch_add(granules << core::kGranuleShift, std::memory_order_relaxed);
  }
  const SpaceIndex& index_;
  SpinLock lock_;
  core::RangeHeap heap_{static_cast<uint32_t>(kPageBytes >> core::kGranuleShift)};
  std::unique_ptr<Spans> spans_;
  std::vector<std::unique_ptr<Space>> spaces_;
  Space* newest_ = nullptr;  // of them
  std::atomic<uint64_t> used_granules_{0};
  std::atomic<uint64_t> peak_from_granules_{0};
  std::atomic<bool> asleep_{false};
  uint64_t live_blocks_ = 0;
  std::atomic<uint64_t>* const tally_;
  const uint16_t tag_;
  const uint32_t slice_shift_;
};

}  // namespace plat::pool
