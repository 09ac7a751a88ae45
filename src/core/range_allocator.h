// SPDX-License-Identifier: Apache-2.0
// Free ranges of an address space: take some at an alignment, take a given one, give back, coalesce.
//
// Taking may throw std::bad_alloc, and then has changed nothing. Giving back never does: the records that it
// needs were put by when the range was taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace plat::core {

class RangeAllocator {
 public:
  // Makes [start, end) free. It must not overlap what is managed already.
  void add(uint64_t start, uint64_t end);

  // The tightest free range that holds `size` at `alignment` (a power of two), its lowest address.
  std::optional<uint64_t> allocate(uint64_t size, uint64_t alignment);
  // Exactly [start, start + size); false unless all of it is free.
  bool allocate_at(uint64_t start, uint64_t size);
  // Gives back what an allocate returned.
  void release(uint64_t start, uint64_t size) noexcept;

  uint64_t free_bytes() const { return free_bytes_; }
  uint64_t largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  using Starts = std::map<uint64_t, uint64_t>;            // start -> end
  using Sizes = std::set<std::pair<uint64_t, uint64_t>>;  // (size, start)
  // A free range's two records, while they are in neither tree.
  struct Record {
    Starts::node_type start;
    Sizes::node_type size;
  };

  void stock(size_t count);
  void insert_free(uint64_t start, uint64_t end) noexcept;
  void erase_free(Starts::iterator range) noexcept;
  void carve(Starts::iterator range, uint64_t start, uint64_t end);

  Starts by_start_;
  Sizes by_size_;
  std::vector<Record> spare_;  // at least as many as ranges are taken
  size_t taken_ = 0;
  uint64_t free_bytes_ = 0;
};

}  // namespace plat::core
