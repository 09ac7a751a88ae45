// SPDX-License-Identifier: Apache-2.0
// Values on ranges of addresses that do not overlap; giving a range a value replaces what was there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace plat::inspect {

template <class T>
class RangeMap {
 public:
  struct Range {
    uint64_t start = 0;
    uint64_t end = 0;
    T value{};
  };

  void assign(uint64_t start, uint64_t end, T value) {
    if (start >= end) return;
    erase(start, end);
    ranges_.emplace(start, Part{end, std::move(value)});
  }

  // What sticks out on either side keeps its value.
  void erase(uint64_t start, uint64_t end) {
    if (start >= end) return;
    auto at = first_ending_after(start);
    while (at != ranges_.end() && at->first < end) {
      const uint64_t old_start = at->first;
      const Part old = at->second;
      at = ranges_.erase(at);
      if (old_start < start) ranges_.emplace(old_start, Part{start, old.value});
      if (old.end > end) at = std::next(ranges_.emplace(end, old).first);
    }
  }

  // The range around an address; false if there is none.
  bool find(uint64_t address, Range& found) const {
    const auto at = first_ending_after(address);
    if (at == ranges_.end() || at->first > address) return false;
    found = {at->first, at->second.end, at->second.value};
    return true;
  }

  // The nearest ranges that end at or before, and start at or after, an address.
  bool find_before(uint64_t address, Range& found) const {
    auto at = ranges_.upper_bound(address);
    while (at != ranges_.begin()) {
      --at;
      if (at->second.end > address) continue;
      found = {at->first, at->second.end, at->second.value};
      return true;
    }
    return false;
  }
  bool find_after(uint64_t address, Range& found) const {
    const auto at = ranges_.lower_bound(address);
    if (at == ranges_.end()) return false;
    found = {at->first, at->second.end, at->second.value};
    return true;
  }

  // visit(start, end, value) for every part of the range that has a value, cut to it.
  template <class Visit>
  void for_each(uint64_t start, uint64_t end, Visit&& visit) const {
    for (auto at = first_ending_after(start); at != ranges_.end() && at->first < end; ++at)
      visit(std::max(start, at->first), std::min(end, at->second.end), at->second.value);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [start, part] : ranges_) visit(start, part.end, part.value);
  }

  size_t size() const { return ranges_.size(); }
  void clear() { ranges_.clear(); }

 private:
  struct Part {
    uint64_t end;
    T value;
  };
  using Map = std::map<uint64_t, Part>;

  typename Map::const_iterator first_ending_after(uint64_t address) const {
    auto at = ranges_.upper_bound(address);
    if (at != ranges_.begin() && std::prev(at)->second.end > address) --at;
    return at;
  }
  typename Map::iterator first_ending_after(uint64_t address) {
    auto at = ranges_.upper_bound(address);
    if (at != ranges_.begin() && std::prev(at)->second.end > address) --at;
    return at;
  }

  Map ranges_;
};

}  // namespace plat::inspect
