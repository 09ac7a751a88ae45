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
#include "pool/live_map.h"
#include "pool/source.h"

namespace plat::pool {

class Zone;

// Where spans are, a table by chunk tells the span and the class of any small block: four bytes for 32 KiB.
inline constexpr uint32_t kChunkShift = 15;

struct Space {
  Space(Zone* owner, char* start, uint64_t size, uint32_t granule, bool paged)
      : zone(owner), base(start), bytes(size), first_granule(granule) {
    chunks.reset(static_cast<uint32_t*>(
        std::calloc((size >> kChunkShift) + 1, sizeof(uint32_t))));  // touched only where spans are
    if (paged) pages.reset(static_cast<void**>(std::calloc(size / kPageBytes, sizeof(void*))));
  }
  bool contains(const void* address) const {
    return static_cast<uint64_t>(static_cast<const char*>(address) - base) < bytes;
  }
  uint32_t& chunk(const void* address) {
    return chunks.get()[static_cast<uint64_t>(static_cast<const char*>(address) - base) >> kChunkShift];
  }
  uint64_t offset_of(const void* address) const {
    return static_cast<uint64_t>(static_cast<const char*>(address) - base);
  }
  uint32_t granule_of(const void* address) const {
    return first_granule +
           static_cast<uint32_t>(static_cast<uint64_t>(static_cast<const char*>(address) - base) >>
                                 core::kGranuleShift);
  }
  char* address_of(uint32_t granule) const {
    return base + (static_cast<uint64_t>(granule - first_granule) << core::kGranuleShift);
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  Zone* const zone;
  char* const base;
  const uint64_t bytes;
  const uint32_t first_granule;
  std::unique_ptr<uint32_t[], Free> chunks;  // zeroed lazily by the system: untouched parts cost nothing
  std::unique_ptr<void*[], Free> pages;      // the handle behind each page, page sources only
  std::unique_ptr<LiveMap> live;             // where spans are cut from it
  void* chunk_base = nullptr;                // what the device gave, block sources only
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
