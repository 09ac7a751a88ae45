// SPDX-License-Identifier: Apache-2.0
// Values on ranges of addresses that do not overlap; giving a range a value replaces what was there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

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
    const auto at = first_ending_after(start);
    if (at != ranges_.end() && at->first == start && at->second.end == end) {
      at->second.value = std::move(value);  // as often as not
      return;
    }
    ranges_.emplace_hint(make_room(at, start, end), start, Part{end, std::move(value)});
  }

  // change(value) for every part of the range, which all get a value of their own.
  template <class Change>
  void update(uint64_t start, uint64_t end, Change&& change) {
    if (start >= end) return;
    cut(start);
    cut(end);
    auto at = ranges_.lower_bound(start);
    while (start < end) {
      if (at == ranges_.end() || at->first > start) {
        const uint64_t stop = at == ranges_.end() ? end : std::min(end, at->first);
        at = ranges_.emplace_hint(at, start, Part{stop, T{}});
      }
      change(at->second.value);
      start = at->second.end;
      ++at;
    }
  }

  // What sticks out on either side keeps its value.
  void erase(uint64_t start, uint64_t end) {
    if (start < end) make_room(first_ending_after(start), start, end);
  }

  // The parts of a range that have this value.
  void erase_value(uint64_t start, uint64_t end, const T& value) {
    std::vector<std::pair<uint64_t, uint64_t>> parts;
    for_each(start, end, [&](uint64_t first, uint64_t last, const T& found) {
      if (found == value) parts.emplace_back(first, last);
    });
    for (const auto& [first, last] : parts) erase(first, last);
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

  // Those for which is_over(value).
  template <class IsOver>
  void erase_if(IsOver&& is_over) {
    std::erase_if(ranges_, [&](const auto& range) { return is_over(range.second.value); });
  }

  size_t size() const { return ranges_.size(); }
  void clear() { ranges_.clear(); }

 private:
  struct Part {
    uint64_t end;
    T value;
  };
  using Map = std::map<uint64_t, Part>;

  // Nothing is left between the two addresses; what sticks out on either side stays. `at` is the first range
  // that ends after the start; returns the first that starts at the end or behind it.
  typename Map::iterator make_room(typename Map::iterator at, uint64_t start, uint64_t end) {
    if (at != ranges_.end() && at->first < start) {
      const uint64_t old_end = std::exchange(at->second.end, start);
      const auto next = std::next(at);
      if (old_end > end) return ranges_.emplace_hint(next, end, Part{old_end, at->second.value});
      at = next;
    }
    while (at != ranges_.end() && at->first < end) {
      if (at->second.end > end) {
        auto rest = ranges_.extract(at++);
        rest.key() = end;
        return ranges_.insert(at, std::move(rest));
      }
      at = ranges_.erase(at);
    }
    return at;
  }

  // Makes two ranges of the one around an address.
  void cut(uint64_t address) {
    const auto at = first_ending_after(address);
    if (at == ranges_.end() || at->first >= address) return;
    ranges_.emplace_hint(std::next(at), address, at->second);
    at->second.end = address;
  }

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
