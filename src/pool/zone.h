// Zone: one heap of blocks with the address space and the pages under it. A pool has one for large blocks,
// one for spans, one for each tag, and one for each thread that was found waiting for another.
//
// Everything but lock() needs the lock. Pages move between zones only under the pool's growth lock.
#pragma once

#include <memory>
#include <vector>

#include "core/address_table.h"
#include "core/range_heap.h"
#include "pool/lock.h"
#include "pool/space.h"
#include "pool/spans.h"

namespace plat::pool {

class Zone {
 public:
  Zone(uint16_t tag, bool with_spans) : tag_(tag) {
    if (with_spans) spans_ = std::make_unique<Spans>();
  }

  SpinLock& lock() { return lock_; }
  core::RangeHeap& heap() { return heap_; }
  Spans* spans() { return spans_.get(); }
  uint16_t tag() const { return tag_; }

  // Adds a space of at most `bytes`; `backed` for a block of the device that is there as a whole. Null when 2
  // TiB are used up.
  Space* add_space(char* base, uint64_t bytes, bool backed);
  Space& space_of(uint32_t granule) const;
  void* address_of(uint32_t block) {
    return space_of(heap_.block(block).start).address_of(heap_.block(block).start);
  }
  const std::vector<std::unique_ptr<Space>>& spaces() const { return spaces_; }

  // A block was placed / goes: keeps the chunk table and the counts. `asked` is what the caller wanted.
  void* open(uint32_t block, uint64_t asked);
  void close(uint32_t block);
  void close_taken(uint32_t block) {
    used_granules_.store(used_granules() - heap_.block(block).size, std::memory_order_relaxed);
    --live_blocks_;
  }
  // The live block that starts at the address; kNoBlock when there is none. take() forgets it too, for a
  // free.
  uint32_t find(const Space& space, const void* address) const { return table_.find(key_of(space, address)); }
  uint32_t take(const Space& space, const void* address) { return table_.remove(key_of(space, address)); }
  uint64_t asked(uint32_t block) const {
    return heap_.block(block).free_prev | (static_cast<uint64_t>(heap_.block(block).free_next) << 32);
  }
  void set_asked(uint32_t block, uint64_t bytes) {
    heap_.block(block).free_prev = static_cast<uint32_t>(bytes);
    heap_.block(block).free_next = static_cast<uint32_t>(bytes >> 32);
  }

  void*& page(uint32_t page_index) {
    const Space& space = space_of(page_index * heap_.page());
    return space.pages[page_index - space.first_granule / heap_.page()];
  }
  char* page_address(uint32_t page_index) {
    return space_of(page_index * heap_.page()).address_of(page_index * heap_.page());
  }

  // May be read without the lock, for an estimate.
  uint64_t used_bytes() const { return used_granules() << core::kGranuleShift; }
  uint64_t table_bytes() const { return table_.bookkeeping_bytes(); }
  uint64_t live_blocks() const { return live_blocks_; }
  std::atomic<bool> asleep{false};

 private:
  uint64_t used_granules() const { return used_granules_.load(std::memory_order_relaxed); }
  // Blocks start at granules: anything else gets a key that no block has.
  static uint32_t key_of(const Space& space, const void* address) {
    return reinterpret_cast<uint64_t>(address) % core::kGranuleBytes == 0 ? space.granule_of(address)
                                                                          : UINT32_MAX;
  }
  SpinLock lock_;
  core::RangeHeap heap_{static_cast<uint32_t>(kPageBytes >> core::kGranuleShift)};
  std::unique_ptr<Spans> spans_;
  std::vector<std::unique_ptr<Space>> spaces_;
  std::atomic<uint64_t> used_granules_{0};
  core::AddressTable table_;  // first granule of a live block -> the block
  uint64_t live_blocks_ = 0;
  uint16_t tag_;
};

}  // namespace plat::pool
