// SPDX-License-Identifier: Apache-2.0
// What RangeMap is, for maps of tens of thousands of ranges that are looked up at random: ranges lie beside
// each other in leaves of a few dozen, so that a look-up touches few lines of the cache, where a tree has one
// for each of its levels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plat::inspect {

template <class T>
class RangeTable {
 public:
  void assign(uint64_t start, uint64_t end, T value) {
    if (start >= end) return;
    const Place at = first_ending_after(start);
    if (Part* const exact = exactly(at, start, end)) {
      exact->value = std::move(value);
      return;
    }
    std::vector<Part>& fresh = begin_rewrite(at, start);
    fresh.push_back({start, end, std::move(value)});
    Place stop = at;
    for (; starts_before(stop, end); step(stop))
      if (part(stop).end > end) fresh.push_back({end, part(stop).end, part(stop).value});
    replace(at, stop, fresh);
  }

  // change(value) for every part of the range, which all get a value of their own.
  template <class Change>
  void update(uint64_t start, uint64_t end, Change&& change) {
    if (start >= end) return;
    const Place at = first_ending_after(start);
    if (Part* const exact = exactly(at, start, end)) {
      change(exact->value);
      return;
    }
    std::vector<Part>& fresh = begin_rewrite(at, start);
    const auto add = [&](uint64_t from, uint64_t to, T value) {
      fresh.push_back({from, to, std::move(value)});
      change(fresh.back().value);
    };
    Place stop = at;
    for (; starts_before(stop, end); step(stop)) {
      const Part& old = part(stop);
      const uint64_t from = std::max(old.start, start), to = std::min(old.end, end);
      if (start < from) add(start, from, T{});
      add(from, to, old.value);
      if (old.end > end) fresh.push_back({end, old.end, old.value});
      start = to;
    }
    if (start < end) add(start, end, T{});
    replace(at, stop, fresh);
  }

  // visit(start, end, value) for every part of the range that has a value, cut to it.
  template <class Visit>
  void for_each(uint64_t start, uint64_t end, Visit&& visit) const {
    for (Place at = first_ending_after(start); starts_before(at, end); step(at))
      visit(std::max(start, part(at).start), std::min(end, part(at).end), part(at).value);
  }

  // Those for which is_over(value).
  template <class IsOver>
  void erase_if(IsOver&& is_over) {
    std::vector<std::vector<Part>> old = std::exchange(leaves_, {});
    clear();
    for (std::vector<Part>& leaf : old) {
      for (Part& one : leaf) {
        if (is_over(one.value)) continue;
        if (leaves_.empty() || leaves_.back().size() == kSplitAt / 2) {
          leaves_.emplace_back();
          starts_.push_back(one.start);
        }
        leaves_.back().push_back(std::move(one));
        ++size_;
      }
      leaf = {};
    }
  }

  size_t size() const { return size_; }
  void clear() {
    leaves_.clear();
    starts_.clear();
    size_ = 0;
  }

 private:
  static constexpr size_t kSplitAt = 64;
  struct Part {
    uint64_t start;
    uint64_t end;
    T value;
  };
  struct Place {
    size_t leaf;
    size_t index;
  };

  const Part& part(Place at) const { return leaves_[at.leaf][at.index]; }
  Part& part(Place at) { return leaves_[at.leaf][at.index]; }
  bool starts_before(Place at, uint64_t address) const {
    return at.leaf < leaves_.size() && part(at).start < address;
  }
  void step(Place& at) const {
    if (++at.index == leaves_[at.leaf].size()) at = {at.leaf + 1, 0};
  }
  Part* exactly(Place at, uint64_t start, uint64_t end) {
    if (at.leaf == leaves_.size()) return nullptr;
    Part& found = part(at);
    return found.start == start && found.end == end ? &found : nullptr;
  }

  Place first_ending_after(uint64_t address) const {
    size_t leaf =
        static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), address) - starts_.begin());
    if (leaf == 0) return {0, 0};  // before all of them
    const std::vector<Part>& parts = leaves_[--leaf];
    const auto behind = std::upper_bound(parts.begin(), parts.end(), address,
                                         [](uint64_t wanted, const Part& one) { return wanted < one.start; });
    size_t index = static_cast<size_t>(behind - parts.begin());
    if (index > 0 && parts[index - 1].end > address) --index;
    return index == parts.size() ? Place{leaf + 1, 0} : Place{leaf, index};
  }

  // What is to stand in the place of some parts, beginning with what sticks out of the first of them.
  std::vector<Part>& begin_rewrite(Place at, uint64_t start) const {
    static thread_local std::vector<Part> fresh;
    fresh.clear();
    if (starts_before(at, start)) fresh.push_back({part(at).start, start, part(at).value});
    return fresh;
  }

  void replace(Place from, Place to, std::vector<Part>& fresh) {
    if (leaves_.empty()) {
      leaves_.emplace_back();
      starts_.push_back(0);
      from = to = {0, 0};
    }
    if (from.leaf == leaves_.size()) from = to = {from.leaf - 1, leaves_.back().size()};
    if (to.leaf > from.leaf) to = drop_between(from, to);
    std::vector<Part>& leaf = leaves_[from.leaf];
    const size_t gone = to.index - from.index, same = std::min(gone, fresh.size());
    const auto at = leaf.begin() + static_cast<ptrdiff_t>(from.index);
    std::move(fresh.begin(), fresh.begin() + static_cast<ptrdiff_t>(same), at);
    if (gone > same)
      leaf.erase(at + static_cast<ptrdiff_t>(same), at + static_cast<ptrdiff_t>(gone));
    else
      leaf.insert(at + static_cast<ptrdiff_t>(same),
                  std::make_move_iterator(fresh.begin() + static_cast<ptrdiff_t>(same)),
                  std::make_move_iterator(fresh.end()));
    size_ = size_ - gone + fresh.size();
    starts_[from.leaf] = leaf.front().start;  // there is always one: what is assigned
    while (leaves_[from.leaf].size() > kSplitAt) split(from.leaf);
  }

  // What lies in the leaves behind the first goes; returns the end of what is left to replace in it.
  Place drop_between(Place from, Place to) {
    std::vector<Part>& first = leaves_[from.leaf];
    size_t behind = to.leaf;  // the first leaf that stays
    for (size_t leaf = from.leaf + 1; leaf < to.leaf; ++leaf) size_ -= leaves_[leaf].size();
    if (to.index > 0) {
      std::vector<Part>& last = leaves_[to.leaf];
      last.erase(last.begin(), last.begin() + static_cast<ptrdiff_t>(to.index));
      size_ -= to.index;
      starts_[to.leaf] = last.front().start;
    }
    const auto erase = [&](auto& list) {
      list.erase(list.begin() + static_cast<ptrdiff_t>(from.leaf) + 1,
                 list.begin() + static_cast<ptrdiff_t>(behind));
    };
    erase(leaves_);
    erase(starts_);
    return {from.leaf, first.size()};
  }

  void split(size_t leaf) {
    std::vector<Part> second;
    std::vector<Part>& first = leaves_[leaf];
    const auto middle = first.end() - static_cast<ptrdiff_t>(kSplitAt / 2);
    second.assign(std::make_move_iterator(middle), std::make_move_iterator(first.end()));
    first.erase(middle, first.end());
    starts_.insert(starts_.begin() + static_cast<ptrdiff_t>(leaf) + 1, second.front().start);
    leaves_.insert(leaves_.begin() + static_cast<ptrdiff_t>(leaf) + 1, std::move(second));
  }

  std::vector<std::vector<Part>> leaves_;  // none is empty
  std::vector<uint64_t> starts_;           // of each leaf: where its first range starts
  size_t size_ = 0;
};

}  // namespace plat::inspect
