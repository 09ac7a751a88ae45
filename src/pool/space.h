// Space: one stretch of addresses that a zone places blocks in, and SpaceIndex, which finds it from any
// address without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "core/range_block.h"
#include "pool/small_table.h"
#include "pool/source.h"

namespace plat::pool {

class Zone;

struct Space {
  // Throws std::bad_alloc.
  Space(Zone* owner, char* start, uint64_t size, uint32_t shift, bool with_spans, bool paged)
      : zone(owner), base(start), bytes(size), chunk_shift(shift) {
    if (with_spans)
      small = std::make_unique<SmallTable>(size);
    else
      starts = zeroed<uint32_t>((size >> shift) + 1);
    if (paged) pages = zeroed<void*>(size / kPageBytes);
  }
  bool contains(const void* address) const { return offset_of(address) < bytes; }
  // The block, plus one, that starts in the chunk of the address: blocks here are longer than chunks.
  uint32_t& start_at(const void* address) { return starts[offset_of(address) >> chunk_shift]; }
  uint64_t offset_of(const void* address) const {
    return static_cast<uint64_t>(static_cast<const char*>(address) - base);
  }
  uint32_t granule_of(const void* address) const {
    return first_granule + static_cast<uint32_t>(offset_of(address) >> core::kGranuleShift);
  }
  char* address_of(uint32_t granule) const {
    return base + (static_cast<uint64_t>(granule - first_granule) << core::kGranuleShift);
  }

  Zone* const zone;
  char* const base;
  const uint64_t bytes;
  uint32_t first_granule = 0;
  const uint32_t chunk_shift;
  Lazy<void*> pages;                  // the handle behind each page, page sources only
  Lazy<uint32_t> starts;              // where no spans are
  std::unique_ptr<SmallTable> small;  // where spans are cut from it
  void* chunk_base = nullptr;         // what the device gave, block sources only
  uint64_t chunk_bytes = 0;
  uint32_t first_block = 0;   // of the heap
  bool gone = false;          // given back to the device
  void* tool_heap = nullptr;  // what an mstx tool knows it by
};

class SpaceIndex {
 public:
  Space* find(const void* address) const {
    const Table* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) return nullptr;
    // Most pools have two or three spaces: a scan in order of creation beats a search.
    for (size_t i = 0; i < table->size() && i < kScan; ++i)
      if ((*table)[i]->contains(address)) return (*table)[i];
    return table->size() <= kScan ? nullptr : search(*table, address);
  }
  void add(Space* space);
  void remove(Space* space);

 private:
  using Table = std::vector<Space*>;
  static constexpr size_t kScan = 4;
  static Space* search(const Table& table, const void* address);
  void publish(std::unique_ptr<Table> table);

  std::mutex mutex_;  // writers
  std::atomic<const Table*> table_{nullptr};
  std::vector<std::unique_ptr<Table>> versions_;  // readers may still look at old ones
};

}  // namespace plat::pool
