// SPDX-License-Identifier: Apache-2.0
// SmallTable: from any address of a space that spans are cut from to its span and class, and whether a live
// block starts there, so that a free of anything else is noticed: a second free, an address inside a block, a
// block that a thread cache holds.
//
// One record for each slice of 32 KiB has both, so that a free touches one line of it, however many blocks
// there are. A flag is a byte of its own: setting and clearing it needs no locked instruction. Classes with
// too many blocks for the record have an array of flags beside it, one for every 64 bytes, of which all
// classes are multiples: only those of starts are ever set.
//
// Records are touched, and arrays made, as spans come. An array is used again and never freed: a wrong free
// that comes while a span goes may still look at it. add() and remove() need the lock of the zone, the rest
// none.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "pool/size_class.h"
#include "pool/source.h"

namespace plat::pool {

// A table that the system zeroes where it is touched: the rest costs nothing. Throws std::bad_alloc.
struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Lazy = std::unique_ptr<T[], FreeMemory>;
template <class T>
Lazy<T> zeroed(uint64_t count) {
  void* const memory = std::calloc(count, sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return Lazy<T>(static_cast<T*>(memory));
}

inline constexpr uint32_t kSliceShift = 15;

class SmallTable {
 public:
  using LiveFlag = std::atomic<uint8_t>;
  // Which span an address is in, and of which class; false as a whole when in none.
  struct Entry {
    uint32_t word = 0;
    explicit operator bool() const { return word != 0; }
    uint32_t span() const { return (word >> kIndexBits) - 1; }
    uint32_t index() const { return word & ((1u << kIndexBits) - 1); }
  };

  // Throws std::bad_alloc.
  explicit SmallTable(uint64_t bytes) : slices_(zeroed<Slice>((bytes >> kSliceShift) + 1)) {}
  SmallTable(const SmallTable&) = delete;
  SmallTable& operator=(const SmallTable&) = delete;

  // Flags are relaxed: a block's is written by whoever has the block, which came to him from the last one
  // through a lock or through the program's own ordering. `more` is stored before the entry that is released
  // after it, and read after that entry was acquired.
  //
  // A span comes or goes; offsets are from the start of the space. Throws std::bad_alloc.
  void add(uint64_t offset, uint32_t index, uint32_t span) {
    if (is_fine(index)) slices_[offset >> kSliceShift].more.store(new_array(), std::memory_order_relaxed);
    set(offset, index, ((span + 1) << kIndexBits) | index);
  }
  void remove(uint64_t offset, uint32_t index) {
    set(offset, index, 0);
    if (is_fine(index)) spare_.push_back(slices_[offset >> kSliceShift].more.load());
  }

  Entry entry(uint64_t offset) const {
    return Entry{slices_[offset >> kSliceShift].entry.load(std::memory_order_acquire)};
  }
  // The flag of a live block, to be cleared when it goes; null when no live block starts there.
  LiveFlag* find(uint64_t offset, uint32_t index) const {
    LiveFlag* const flag = flag_at(offset, index);
    return flag != nullptr && flag->load(std::memory_order_relaxed) != 0 ? flag : nullptr;
  }
  // Null where no block of the class can start.
  LiveFlag* flag_at(uint64_t offset, uint32_t index) const {
    Slice& slice = slices_[offset >> kSliceShift];
    if (is_fine(index)) {
      if (offset % kUnit != 0) return nullptr;
      return slice.more.load(std::memory_order_relaxed) + (offset & (kFineSpan - 1)) / kUnit;
    }
    const Shape& shape = kShapes[index];
    const uint32_t inside = static_cast<uint32_t>(offset) & shape.mask;
    const auto number = static_cast<uint32_t>((uint64_t{inside} * shape.reciprocal) >> 32);
    if (number * shape.bytes != inside || number >= shape.count) return nullptr;
    return &slice.flags[number];
  }
  static void open(LiveFlag& flag) { flag.store(1, std::memory_order_relaxed); }
  static void close(LiveFlag& flag) { flag.store(0, std::memory_order_relaxed); }

  uint64_t bookkeeping_bytes(uint64_t backed_bytes) const {
    return (backed_bytes >> kSliceShift) * sizeof(Slice) + made_.size() * (kFineSpan / kUnit);
  }

 private:
  static constexpr uint32_t kIndexBits = 6;
  static_assert(kClasses <= 1u << kIndexBits);
  static constexpr uint32_t kCoarse = 20;  // the first class whose flags are in the record
  static constexpr uint32_t kFlags = 20;
  static_assert(span_bytes(kCoarse) / class_bytes(kCoarse) <= kFlags);
  static constexpr uint32_t kFineSpan = span_bytes(0);
  static_assert(kFineSpan == 1u << kSliceShift && span_bytes(kCoarse) == kFineSpan);
  static constexpr uint32_t kUnit = 64;

  struct Slice {
    std::atomic<LiveFlag*> more;  // of fine classes, or what was left here by one
    std::atomic<uint32_t> entry;
    std::array<LiveFlag, kFlags> flags;  // by the number of the block in its span
  };
  static_assert(sizeof(Slice) == 32, "two to a line");

  struct Shape {
    uint32_t reciprocal;  // instead of a division: what rounds it up is too little to matter inside a span
    uint32_t bytes;
    uint32_t count;  // of blocks in a span
    uint32_t mask;   // of offsets in a span
  };
  static constexpr std::array<Shape, kClasses> kShapes = [] {
    std::array<Shape, kClasses> all{};
    for (uint32_t index = 0; index < kClasses; ++index)
      all[index] = {static_cast<uint32_t>((uint64_t{1} << 32) / class_bytes(index) + 1), class_bytes(index),
                    span_bytes(index) / class_bytes(index), span_bytes(index) - 1};
    return all;
  }();

  static bool is_fine(uint32_t index) { return index < kCoarse; }
  void set(uint64_t offset, uint32_t index, uint32_t word) {
    for (uint64_t end = offset + span_bytes(index); offset < end; offset += uint64_t{1} << kSliceShift) {
      Slice& slice = slices_[offset >> kSliceShift];
      for (LiveFlag& flag : slice.flags) flag.store(0, std::memory_order_relaxed);
      slice.entry.store(word, std::memory_order_release);
    }
  }
  LiveFlag* new_array() {
    constexpr uint32_t kCount = kFineSpan / kUnit;
    if (spare_.empty()) {
      // Room for all of them, so that remove() cannot fail.
      made_.push_back(std::make_unique<LiveFlag[]>(kCount));
      spare_.reserve(made_.capacity());
      return made_.back().get();
    }
    LiveFlag* const array = spare_.back();
    spare_.pop_back();
    for (uint32_t i = 0; i < kCount; ++i) array[i].store(0, std::memory_order_relaxed);
    return array;
  }

  Lazy<Slice> slices_;
  std::vector<std::unique_ptr<LiveFlag[]>> made_;
  std::vector<LiveFlag*> spare_;
};

// A small block that is free, with its flag beside it, so that handing it out again needs no search.
struct SmallBlock {
  void* address;
  SmallTable::LiveFlag* flag;  // null: it has to be looked for
};

}  // namespace plat::pool
