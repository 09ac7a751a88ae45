// SPDX-License-Identifier: Apache-2.0
// Free ranges of an address space: take some at an alignment, take a given one, give back, coalesce.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace plat::core {

class RangeAllocator {
 public:
  // Makes [start, end) free. It must not overlap what is managed already.
  void add(uint64_t start, uint64_t end) { insert_free(start, end); }

  // The tightest free range that holds `size` at `alignment` (a power of two), its lowest address.
  std::optional<uint64_t> allocate(uint64_t size, uint64_t alignment);
  // Exactly [start, start + size); false unless all of it is free.
  bool allocate_at(uint64_t start, uint64_t size);
  // Gives back what an allocate returned.
  void release(uint64_t start, uint64_t size) { insert_free(start, start + size); }

  uint64_t free_bytes() const { return free_bytes_; }
  uint64_t largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void insert_free(uint64_t start, uint64_t end);
  void erase_free(std::map<uint64_t, uint64_t>::iterator range);
  void carve(std::map<uint64_t, uint64_t>::iterator range, uint64_t start, uint64_t end);

  std::map<uint64_t, uint64_t> by_start_;            // start -> end
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // (size, start)
  uint64_t free_bytes_ = 0;
};

}  // namespace plat::core
