// SPDX-License-Identifier: Apache-2.0
// What RangeMap is, for maps of tens of thousands of ranges that are looked up at random: ranges lie beside
// each other in leaves of a few dozen, their starts apart from the rest, so that a look-up touches few lines
// of the cache, where a tree has one for each of its levels. Values are copied as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace plat::inspect {

template <class T>
class RangeTable {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  void assign(uint64_t start, uint64_t end, const T& value) { assign(start, end, value, kNobody); }
  // visit(start, end, old value) for every part of the range that had a value, cut to it.
  template <class Visit>
  void assign(uint64_t start, uint64_t end, const T& value, Visit&& visit) {
    if (start >= end) return;
    const Place at = first_ending_after(start);
    if (starts_before(at, end) && start_of(at) == start && rest_of(at).end == end) {  // as often as not
      visit(start, end, std::as_const(rest_of(at).value));
      rest_of(at).value = value;
      return;
    }
    high_ = std::max(high_, end);
    rewrite(at, start, end, &value, visit);
  }

  // What sticks out on either side keeps its value.
  void erase(uint64_t start, uint64_t end) { erase(start, end, kNobody); }
  template <class Visit>
  void erase(uint64_t start, uint64_t end, Visit&& visit) {
    if (start >= end || !meets(start, end)) return;
    const Place at = first_ending_after(start);
    if (starts_before(at, end)) rewrite(at, start, end, nullptr, visit);
  }

  // False: nothing in the range has a value, and that is known without a look-up.
  bool meets(uint64_t start, uint64_t end) const {
    return !starts_.empty() && starts_.front() < end && high_ > start;
  }

  // visit(start, end, value) for every part of the range that has a value, cut to it.
  template <class Visit>
  void for_each(uint64_t start, uint64_t end, Visit&& visit) const {
    if (!meets(start, end)) return;
    for (Place at = first_ending_after(start); starts_before(at, end); step(at))
      visit(std::max(start, start_of(at)), std::min(end, rest_of(at).end), rest_of(at).value);
  }

  // Those for which is_over(value).
  template <class IsOver>
  void erase_if(IsOver&& is_over) {
    std::vector<Leaf> old = std::exchange(leaves_, {});
    clear();
    for (Leaf& leaf : old) {
      for (size_t i = 0; i < leaf.starts.size(); ++i) {
        if (is_over(std::as_const(leaf.rest[i].value))) continue;
        if (leaves_.empty() || leaves_.back().starts.size() == kLeaf / 2) {
          leaves_.emplace_back();
          starts_.push_back(leaf.starts[i]);
        }
        leaves_.back().starts.push_back(leaf.starts[i]);
        leaves_.back().rest.push_back(leaf.rest[i]);
        high_ = leaf.rest[i].end;
        ++size_;
      }
      leaf = {};
    }
  }

  size_t size() const { return size_; }
  void clear() {
    leaves_.clear();
    starts_.clear();
    size_ = high_ = 0;
  }

 private:
  static constexpr size_t kLeaf = 32;  // ranges of one at most
  static constexpr auto kNobody = [](uint64_t, uint64_t, const T&) {};
  struct Rest {
    uint64_t end;
    T value;
  };
  struct Leaf {
    std::vector<uint64_t> starts;
    std::vector<Rest> rest;

    template <class Change>
    void both(Change&& change) {
      change(starts);
      change(rest);
    }
  };
  struct Place {
    size_t leaf;
    size_t index;
  };
  // What is to stand in the place of some ranges: what sticks out of them, and a new one.
  struct Fresh {
    uint64_t starts[3];
    Rest rest[3];
    size_t count = 0;
    void add(uint64_t start, uint64_t end, const T& value) {
      starts[count] = start;
      rest[count++] = {end, value};
    }
  };

  uint64_t start_of(Place at) const { return leaves_[at.leaf].starts[at.index]; }
  const Rest& rest_of(Place at) const { return leaves_[at.leaf].rest[at.index]; }
  Rest& rest_of(Place at) { return leaves_[at.leaf].rest[at.index]; }
  bool starts_before(Place at, uint64_t address) const {
    return at.leaf < leaves_.size() && start_of(at) < address;
  }
  void step(Place& at) const {
    if (++at.index == leaves_[at.leaf].starts.size()) at = {at.leaf + 1, 0};
  }
  static constexpr ptrdiff_t steps(size_t count) { return static_cast<ptrdiff_t>(count); }

  Place first_ending_after(uint64_t address) const {
    size_t leaf = starting_until(starts_, address);
    if (leaf == 0) return {0, 0};  // before all of them
    const Leaf& parts = leaves_[--leaf];
    size_t index = starting_until(parts.starts, address);
    if (index > 0 && parts.rest[index - 1].end > address) --index;
    return index == parts.starts.size() ? Place{leaf + 1, 0} : Place{leaf, index};
  }
  // How many start at an address or before it. Without a branch that depends on what is found: nobody can
  // guess where random addresses go, and std::upper_bound pays for the wrong guess at every other step.
  static size_t starting_until(const std::vector<uint64_t>& starts, uint64_t address) {
    size_t count = starts.size(), at = 0;
    if (count == 0) return 0;
    while (count > 1) {
      const size_t half = count / 2;
      at += starts[at + half - 1] <= address ? half : 0;
      count -= half;
    }
    return at + (starts[at] <= address ? 1 : 0);
  }

  // Gives the range the value, or none. `at` is the first that ends after the start.
  template <class Visit>
  void rewrite(Place at, uint64_t start, uint64_t end, const T* value, Visit&& visit) {
    Fresh fresh;
    if (starts_before(at, start)) fresh.add(start_of(at), start, rest_of(at).value);
    if (value != nullptr) fresh.add(start, end, *value);
    Place stop = at;
    for (; starts_before(stop, end); step(stop)) {
      const Rest& old = rest_of(stop);
      visit(std::max(start, start_of(stop)), std::min(end, old.end), old.value);
      if (old.end > end) fresh.add(end, old.end, old.value);
    }
    replace(at, stop, fresh);
  }

  void replace(Place from, Place to, const Fresh& fresh) {
    if (leaves_.empty()) {
      leaves_.emplace_back();
      starts_.push_back(0);
      from = to = {0, 0};
    }
    if (from.leaf == leaves_.size()) from = to = {from.leaf - 1, leaves_.back().starts.size()};
    if (to.leaf > from.leaf) to = drop_between(from, to);
    // Before it is too full: what grows beyond its size has room for twice of it from then on.
    const size_t gone = to.index - from.index;
    if (leaves_[from.leaf].starts.size() - gone + fresh.count > kLeaf) {
      const size_t stay = split(from.leaf);
      if (from.index >= stay) {
        from = {from.leaf + 1, from.index - stay};
        to = {from.leaf, to.index - stay};
      } else if (to.index > stay) {  // on both sides
        to = drop_between(from, {from.leaf + 1, to.index - stay});
      }
    }
    put(from, to, fresh);
  }

  // Within one leaf.
  void put(Place from, Place to, const Fresh& fresh) {
    Leaf& leaf = leaves_[from.leaf];
    const size_t gone = to.index - from.index, same = std::min(gone, fresh.count);
    const auto put_into = [&](auto& list, const auto* parts) {
      const auto at = list.begin() + steps(from.index);
      std::copy(parts, parts + same, at);
      if (gone > same)
        list.erase(at + steps(same), at + steps(gone));
      else
        list.insert(at + steps(same), parts + same, parts + fresh.count);
    };
    put_into(leaf.starts, fresh.starts);
    put_into(leaf.rest, fresh.rest);
    size_ = size_ - gone + fresh.count;
    if (leaf.starts.empty())
      remove_leaves(from.leaf, from.leaf + 1);
    else
      starts_[from.leaf] = leaf.starts.front();
  }

  // What lies in the leaves behind the first goes; returns the end of what is left to replace in it.
  Place drop_between(Place from, Place to) {
    for (size_t leaf = from.leaf + 1; leaf < to.leaf; ++leaf) size_ -= leaves_[leaf].starts.size();
    if (to.index > 0) {  // some are left in it: a place is in a leaf, or at the start of the next
      leaves_[to.leaf].both([&](auto& list) { list.erase(list.begin(), list.begin() + steps(to.index)); });
      size_ -= to.index;
      starts_[to.leaf] = leaves_[to.leaf].starts.front();
    }
    remove_leaves(from.leaf + 1, to.leaf);
    return {from.leaf, leaves_[from.leaf].starts.size()};
  }

  void remove_leaves(size_t first, size_t last) {
    leaves_.erase(leaves_.begin() + steps(first), leaves_.begin() + steps(last));
    starts_.erase(starts_.begin() + steps(first), starts_.begin() + steps(last));
  }

  // Returns how many stay in the first.
  size_t split(size_t leaf) {
    Leaf& first = leaves_[leaf];
    const size_t stay = first.starts.size() / 2;
    Leaf second{{first.starts.begin() + steps(stay), first.starts.end()},
                {first.rest.begin() + steps(stay), first.rest.end()}};
    first.both([&](auto& list) { list.erase(list.begin() + steps(stay), list.end()); });
    starts_.insert(starts_.begin() + steps(leaf) + 1, second.starts.front());
    leaves_.insert(leaves_.begin() + steps(leaf) + 1, std::move(second));
    return stay;
  }

  std::vector<Leaf> leaves_;      // none is empty
  std::vector<uint64_t> starts_;  // of each leaf: where its first range starts
  size_t size_ = 0;
  uint64_t high_ = 0;  // none ends behind it
};

}  // namespace plat::inspect
