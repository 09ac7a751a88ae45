// SPDX-License-Identifier: Apache-2.0
// Values on ranges of several owners: those of one owner do not overlap, those of different owners may, and
// whoever asks for a range sees those of all of them.
//
// Addresses are divided into pages, and in each page every owner has a row: in one table, the rows of a page
// lie behind each other. So a range of one owner is one look-up, and all that is known of a page lies
// together. Pages are somewhat larger than the ranges in them: ranges of other lengths are in other tables.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "inspect/model/range_table.h"

namespace plat::inspect {

template <class T>
class OwnerRanges {
 public:
  static constexpr uint32_t kOwners = 1 << 16;
  static constexpr uint64_t kAddresses = uint64_t{1} << 47;  // as many as keys have room for

  // Takes the place of what the owner had there, of about the same length; older ranges of other lengths may
  // stay. What cannot be kept is left out.
  void assign(uint32_t owner, uint64_t start, uint64_t end, const T& value) {
    if (start >= end || owner >= kOwners || end > kAddresses) return;
    Level& level = level_for(end - start);
    size_ -= level.ranges.size();
    for (uint64_t at = start; at < end;) {
      const uint64_t stop = std::min(end, level.page_of(at + level.page_size()));
      const uint64_t key = level.key(owner, at);
      level.ranges.assign(key, key + (stop - at), value);
      at = stop;
    }
    size_ += level.ranges.size();
  }

  // visit(start, end, value) for every part of the range that has a value, cut to it.
  template <class Visit>
  void for_each(uint64_t start, uint64_t end, Visit&& visit) const {
    for (const Level& level : levels_)
      level.for_each(start, end, [&](uint64_t first, uint64_t last, uint64_t, const T& value) {
        visit(first, last, value);
      });
  }

  // The same, and nothing is left there. What sticks out on either side keeps its value.
  template <class Visit>
  void erase(uint64_t start, uint64_t end, Visit&& visit) {
    for (Level& level : levels_) {
      gone_.clear();
      level.for_each(start, end, [&](uint64_t first, uint64_t last, uint64_t key, const T& value) {
        visit(first, last, value);
        gone_.emplace_back(key, key + (last - first));
      });
      if (gone_.empty()) continue;
      size_ -= level.ranges.size();
      for (const auto& [first, last] : gone_) level.ranges.erase(first, last);
      size_ += level.ranges.size();
    }
  }

  // Those for which is_over(value).
  template <class IsOver>
  void erase_if(IsOver&& is_over) {
    for (Level& level : levels_) level.ranges.erase_if(is_over);
    std::erase_if(levels_, [](const Level& level) { return level.ranges.size() == 0; });
    size_ = 0;
    for (const Level& level : levels_) size_ += level.ranges.size();
  }

  size_t size() const { return size_; }

 private:
  static constexpr unsigned kOwnerBits = std::bit_width(kOwners - 1);
  // Lengths of pages are powers of two.
  static constexpr unsigned kFirst = 14, kStep = 4, kLast = std::bit_width(kAddresses - 1);

  struct Level {
    unsigned bits;
    RangeTable<T> ranges;  // by page, then owner, then place in the page

    uint64_t page_size() const { return uint64_t{1} << bits; }
    uint64_t page_of(uint64_t address) const { return address >> bits << bits; }
    uint64_t key(uint32_t owner, uint64_t address) const {
      return (address >> bits << (bits + kOwnerBits)) | (uint64_t{owner} << bits) |
             (address & (page_size() - 1));
    }
    // visit(start, end, key of the start, value)
    template <class Visit>
    void for_each(uint64_t start, uint64_t end, Visit&& visit) const {
      end = std::min(end, kAddresses);
      if (start >= end) return;
      const uint64_t behind = end - 1 + page_size();
      ranges.for_each(key(0, page_of(start)), key(0, page_of(behind)),
                      [&](uint64_t first_key, uint64_t last_key, const T& value) {
                        const uint64_t first = address_of(first_key), last = first + (last_key - first_key);
                        if (first >= end || last <= start) return;
                        const uint64_t from = std::max(first, start);
                        visit(from, std::min(last, end), first_key + (from - first), value);
                      });
    }
    uint64_t address_of(uint64_t key) const {
      return (key >> (bits + kOwnerBits) << bits) | (key & (page_size() - 1));
    }
  };

  Level& level_for(uint64_t size) {
    unsigned bits = kFirst;
    while (bits < kLast && size > uint64_t{1} << (bits - 1)) bits = std::min(bits + kStep, kLast);
    for (Level& level : levels_)
      if (level.bits == bits) return level;
    levels_.push_back({bits, {}});
    return levels_.back();
  }

  std::vector<Level> levels_;
  std::vector<std::pair<uint64_t, uint64_t>> gone_;  // kept for its room
  size_t size_ = 0;
};

}  // namespace plat::inspect
