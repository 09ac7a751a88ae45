// SPDX-License-Identifier: Apache-2.0
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

// Starts: which block starts at an offset. The first that comes to a page has its word in a table of pages,
// which is so small that it stays in the processor's cache, and where blocks are long no other comes; others
// have theirs in a table of slices, in each of which one block starts at most.
class Starts {
 public:
  using Note = Link<core::RangeId>;

  Starts() = default;
  Starts(uint64_t bytes, uint32_t slice_shift)
      : pages_(zeroed<Note>(bytes / kPageBytes + 1)),
        slices_(zeroed<Note>((bytes >> slice_shift) + 1)),
        slice_shift_(slice_shift) {}

  void put(uint64_t offset, core::RangeId block) {
    Note& page = pages_[offset / kPageBytes];
    (page ? slices_[offset >> slice_shift_] : page) = Note(block);
  }
  // Where the block that starts there is noted; null when none does. `starts_there` tells of a block that
  // may.
  template <class StartsThere>
  Note* find(uint64_t offset, StartsThere&& starts_there) const {
    Note& page = pages_[offset / kPageBytes];
    if (page && starts_there(*page)) return &page;
    Note& slice = slices_[offset >> slice_shift_];
    return slice && starts_there(*slice) ? &slice : nullptr;
  }

 private:
  Lazy<Note> pages_;
  Lazy<Note> slices_;
  uint32_t slice_shift_ = 0;
};

struct Space {
  // Throws std::bad_alloc.
  Space(Zone* owner, char* start, uint64_t size, uint32_t shift, bool with_spans, bool paged)
      : zone(owner), base(start), bytes(size), most_bytes(size) {
    if (with_spans)
      small = std::make_unique<SmallTable>(size);
    else
      starts = Starts(size, shift);
    if (paged) pages = zeroed<void*>(size / kPageBytes);
  }
  bool contains(const void* address) const { return offset_of(address) < bytes; }
  uint64_t offset_of(const void* address) const {
    return static_cast<uint64_t>(static_cast<const char*>(address) - base);
  }
  uint64_t offset_at(uint32_t granule) const {
    return static_cast<uint64_t>(granule - first_granule) << core::kGranuleShift;
  }
  char* address_of(uint32_t granule) const { return base + offset_at(granule); }

  Zone* const zone;
  char* base;
  uint64_t bytes;
  const uint64_t most_bytes;  // what the tables are made for
  uint32_t first_granule = 0;
  Lazy<void*> pages;                  // the handle behind each page, page sources only
  Starts starts;                      // where no spans are
  std::unique_ptr<SmallTable> small;  // where spans are cut from it
  void* chunk_base = nullptr;         // what the device gave, block sources only
  uint64_t chunk_bytes = 0;
  core::RangeId first_block;  // of the heap
  bool gone = false;          // given back to the device; another block may take its place
  void* tool_heap = nullptr;  // what an mstx tool knows it by
};

// Readers take no lock: they look again when a writer was there meanwhile, which they see by its turns. The
// table has the addresses itself, since a space may become another while a reader looks at an old table.
class SpaceIndex {
 public:
  Space* find(const void* address) const {
    for (;;) {
      const uint64_t turn = turn_.load(std::memory_order_acquire);
      Space* const space = find_in_table(address);
      if (turn % 2 == 0 && turn_.load(std::memory_order_relaxed) == turn) return space;
    }
  }
  // Of a block that is cut from a span, live or not.
  SmallTable::LiveFlag* flag_at(const void* address, uint32_t index) const {
    const Space& space = *find(address);
    return space.small->flag_at(space.offset_of(address), index);
  }
  uint32_t span_at(const void* address) const {
    const Space& space = *find(address);
    return space.small->entry(space.offset_of(address)).span();
  }
  // Throws std::bad_alloc, and then nothing happened; never after make_room(), by whoever keeps others away.
  void add(Space* space);
  void make_room() {
    std::lock_guard guard(mutex_);
    table_with_room();
  }
  void remove(Space* space);

 private:
  // Stores release and loads acquire: whoever sees one of a writer's words sees its turn too.
  template <class T>
  class Word {
   public:
    void operator=(T value) { value_.store(value, std::memory_order_release); }
    operator T() const { return value_.load(std::memory_order_acquire); }

   private:
    std::atomic<T> value_{};
  };
  struct Entry {
    Word<const char*> base;
    Word<uint64_t> bytes;
    Word<Space*> space;
    bool contains(const void* address) const {
      return static_cast<uint64_t>(static_cast<const char*>(address) - base) < bytes;
    }
    void operator=(const Entry& other);
  };
  struct Table {
    explicit Table(size_t room) : capacity(room), entries(new Entry[room]) {}
    const size_t capacity;
    Word<size_t> size;
    std::unique_ptr<Entry[]> entries;
  };
  static constexpr size_t kScan = 4;
  Space* find_in_table(const void* address) const {
    const Table* table = table_;
    const size_t size = table != nullptr ? table->size : size_t{0};
    // Most pools have two or three spaces: a scan in order of creation beats a search.
    for (size_t i = 0; i < size && i < kScan; ++i)
      if (table->entries[i].contains(address)) return table->entries[i].space;
    return size <= kScan ? nullptr : search(*table, size, address);
  }
  static Space* search(const Table& table, size_t size, const void* address);
  Table& table_with_room();

  std::mutex mutex_;               // writers
  std::atomic<uint64_t> turn_{0};  // odd while a writer changes the table
  Word<Table*> table_;
  // Readers may still look at old ones. Each is twice as long as the one before, so they are few.
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace plat::pool
