// SPDX-License-Identifier: Apache-2.0
// The software page table: one 64-bit entry for each 2 MiB page of a 47-bit address space.
//
// A two-level radix: 4096 leaves of 16384 entries (32 GiB each), made on demand and kept for ever. Readers
// take no lock: two dependent loads. Writers are serialised by the caller. What an entry means is the
// caller's business; 0 is "nothing".
//
// Orders: a leaf is shown with release and found with acquire, as its entries are; writers read relaxed what
// writers before them stored, ordered by the caller's lock. tests/model/pin_test.cpp has both in small.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace plat::core {

inline constexpr uint64_t kPageBytes = 2_MiB;
inline constexpr unsigned kPageShift = 21;
inline constexpr unsigned kAddressBits = 47;

class PageTable {
 public:
  PageTable() = default;
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;
  ~PageTable();

  uint64_t load(Va va) const {
    const std::atomic<uint64_t>* leaf = leaf_of(va);
    return leaf ? leaf[leaf_index(va)].load(std::memory_order_acquire) : 0;
  }

  // Makes sure that stores to [va, va + size_bytes) cannot fail. False when there is no memory for the
  // leaves.
  bool prepare(Va va, uint64_t size_bytes);
  // The page's leaf must have been prepared. Those who prepare and store are serialised by the caller, hence
  // relaxed; readers come at any time, and acquire the leaf and the entry.
  void store(Va va, uint64_t entry) {
    std::atomic<uint64_t>* leaf =
        leaves_[(va.value >> (kPageShift + kLeafBits)) % kLeaves].load(std::memory_order_relaxed);
    leaf[leaf_index(va)].store(entry, std::memory_order_release);
  }

 private:
  static constexpr unsigned kLeafBits = 14;
  static constexpr uint64_t kLeafEntries = uint64_t{1} << kLeafBits;
  static constexpr uint64_t kLeaves = uint64_t{1} << (kAddressBits - kPageShift - kLeafBits);

  static uint64_t leaf_index(Va va) { return (va.value >> kPageShift) & (kLeafEntries - 1); }
  std::atomic<uint64_t>* leaf_of(Va va) const {
    const uint64_t leaf = va.value >> (kPageShift + kLeafBits);
    return leaf < kLeaves ? leaves_[leaf].load(std::memory_order_acquire) : nullptr;
  }

  std::array<std::atomic<std::atomic<uint64_t>*>, kLeaves> leaves_{};
};

}  // namespace plat::core
