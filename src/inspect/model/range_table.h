// SPDX-License-Identifier: Apache-2.0
// What RangeMap is, for maps of tens of thousands of ranges that are looked up at random: ranges lie beside
// each other in leaves of a few dozen, their starts apart from the rest, so that a look-up touches few lines
// of the cache, where a tree has one for each of its levels. Values are copied as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace plat::inspect {

template <class T>
class RangeTable {
 public:
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(uint64_t));

  void assign(uint64_t start, uint64_t end, const T& value) { assign(start, end, value, kNobody); }
  // visit(start, end, old value) for every part of the range that had a value, cut to it.
  template <class Visit>
  void assign(uint64_t start, uint64_t end, const T& value, Visit&& visit) {
    if (start >= end) return;
    low_ = std::min(low_, start);
    high_ = std::max(high_, end);
    rewrite(start, end, &value, visit);
  }

  // What sticks out on either side keeps its value.
  void erase(uint64_t start, uint64_t end) { erase(start, end, kNobody); }
  template <class Visit>
  void erase(uint64_t start, uint64_t end, Visit&& visit) {
    if (start < end && meets(start, end)) rewrite(start, end, nullptr, visit);
  }

  // False: nothing in the range has a value, and that is known without a look-up.
  bool meets(uint64_t start, uint64_t end) const { return low_ < end && high_ > start; }

  // visit(start, end, value) for every part of the range that has a value, cut to it.
  template <class Visit>
  void for_each(uint64_t start, uint64_t end, Visit&& visit) const {
    if (!meets(start, end)) return;
    for (Cursor at = first_ending_after(start); starts_before(at, end); step(at))
      visit(std::max(start, start_of(at)), std::min(end, end_of(at)), value_of(at));
  }

  // Those for which is_over(value).
  template <class IsOver>
  void erase_if(IsOver&& is_over) {
    std::vector<Leaf> old = std::exchange(leaves_, {});
    clear();
    for (Leaf& leaf : old) {
      for (size_t i = 0; i < leaf.count; ++i)
        if (const T& value = leaf.values()[i]; !is_over(value))
          append(leaf.starts()[i], leaf.ends()[i], value);
      leaf = {};
    }
  }

  size_t size() const { return size_; }
  void clear() {
    leaves_.clear();
    starts_.clear();
    size_ = high_ = 0;
    low_ = ~uint64_t{0};
  }

 private:
  static constexpr uint32_t kLeaf = 32;  // ranges of one at most
  static constexpr auto kNobody = [](uint64_t, uint64_t, const T&) {};
  // Starts, ends and values, in one piece of memory that grows with what it holds: most tables have a handful
  // of ranges.
  struct Leaf {
    uint64_t* starts() const { return memory.get(); }
    uint64_t* ends() const { return memory.get() + room; }
    T* values() const { return reinterpret_cast<T*>(memory.get() + size_t{2} * room); }

    // Makes `fresh` places of the `gone` from `at` on.
    void resize_gap(uint32_t at, uint32_t gone, uint32_t fresh) {
      const uint32_t wanted = count - gone + fresh, tail = count - at - gone;
      if (wanted > room) {
        Leaf larger = with_room(std::min(kLeaf, std::max(wanted, 2 * room)));
        larger.take(*this, 0, 0, at);
        larger.take(*this, at + gone, at + fresh, tail);
        memory = std::move(larger.memory);
        room = larger.room;
      } else if (gone != fresh) {
        take(*this, at + gone, at + fresh, tail);
      }
      count = wanted;
    }
    void take(const Leaf& from, uint32_t source, uint32_t target, uint32_t number) {
      if (number == 0) return;
      std::memmove(starts() + target, from.starts() + source, number * sizeof(uint64_t));
      std::memmove(ends() + target, from.ends() + source, number * sizeof(uint64_t));
      std::memmove(static_cast<void*>(values() + target), from.values() + source, number * sizeof(T));
    }
    static Leaf with_room(uint32_t room) {
      const size_t values = (room * sizeof(T) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
      return {std::make_unique_for_overwrite<uint64_t[]>(size_t{2} * room + values), 0, room};
    }

    std::unique_ptr<uint64_t[]> memory;
    uint32_t count = 0, room = 0;
  };
  struct Cursor {
    size_t leaf;
    uint32_t index;
  };
  // What is to stand in the place of some ranges: what sticks out of them, and a new one.
  struct Fresh {
    uint64_t starts[3], ends[3];
    T values[3];
    uint32_t count = 0;
    void add(uint64_t start, uint64_t end, const T& value) {
      starts[count] = start;
      ends[count] = end;
      values[count++] = value;
    }
  };

  uint64_t start_of(Cursor at) const { return leaves_[at.leaf].starts()[at.index]; }
  uint64_t end_of(Cursor at) const { return leaves_[at.leaf].ends()[at.index]; }
  const T& value_of(Cursor at) const { return leaves_[at.leaf].values()[at.index]; }
  bool starts_before(Cursor at, uint64_t address) const {
    return at.leaf < leaves_.size() && start_of(at) < address;
  }
  void step(Cursor& at) const {
    if (++at.index == leaves_[at.leaf].count) at = {at.leaf + 1, 0};
  }

  Cursor first_ending_after(uint64_t address) const {
    size_t leaf = starting_until(starts_.data(), starts_.size(), address);
    if (leaf == 0) return {0, 0};  // before all of them
    const Leaf& parts = leaves_[--leaf];
    auto index = static_cast<uint32_t>(starting_until(parts.starts(), parts.count, address));
    if (index > 0 && parts.ends()[index - 1] > address) --index;
    return index == parts.count ? Cursor{leaf + 1, 0} : Cursor{leaf, index};
  }
  // How many start at an address or before it. Without a branch that depends on what is found: nobody can
  // guess where random addresses go, and std::upper_bound pays for the wrong guess at every other step. The
  // mask keeps the compiler from making a branch of it.
  static size_t starting_until(const uint64_t* starts, size_t count, uint64_t address) {
    if (count == 0) return 0;
    const uint64_t* at = starts;
    while (count > 1) {
      const size_t half = count / 2;
      at += half & (size_t{0} - static_cast<size_t>(at[half - 1] <= address));
      count -= half;
    }
    return static_cast<size_t>(at - starts) + static_cast<size_t>(*at <= address);
  }

  // Gives the range the value, or none.
  template <class Visit>
  void rewrite(uint64_t start, uint64_t end, const T* value, Visit&& visit) {
    const Cursor at = first_ending_after(start);
    Fresh fresh;
    Cursor stop = at;
    if (starts_before(at, end)) {
      if (start_of(at) < start) fresh.add(start_of(at), start, value_of(at));
      if (value != nullptr) fresh.add(start, end, *value);
      do {
        const uint64_t old_end = end_of(stop);
        visit(std::max(start, start_of(stop)), std::min(end, old_end), value_of(stop));
        if (old_end > end) fresh.add(end, old_end, value_of(stop));
        step(stop);
      } while (starts_before(stop, end));
    } else if (value != nullptr) {
      fresh.add(start, end, *value);
    } else {
      return;
    }
    replace(at, stop, fresh);
  }

  void replace(Cursor from, Cursor to, const Fresh& fresh) {
    if (leaves_.empty()) {
      leaves_.emplace_back();
      starts_.push_back(0);
      from = to = {0, 0};
    }
    if (from.leaf == leaves_.size()) from = to = {from.leaf - 1, leaves_.back().count};
    if (to.leaf > from.leaf) to = drop_between(from, to);
    if (leaves_[from.leaf].count - (to.index - from.index) + fresh.count > kLeaf) {
      const uint32_t stay = split(from.leaf);
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
  void put(Cursor from, Cursor to, const Fresh& fresh) {
    Leaf& leaf = leaves_[from.leaf];
    const uint32_t gone = to.index - from.index;
    leaf.resize_gap(from.index, gone, fresh.count);
    std::copy_n(fresh.starts, fresh.count, leaf.starts() + from.index);
    std::copy_n(fresh.ends, fresh.count, leaf.ends() + from.index);
    std::copy_n(fresh.values, fresh.count, leaf.values() + from.index);
    size_ = size_ - gone + fresh.count;
    if (leaf.count == 0) return remove_leaves(from.leaf, from.leaf + 1);
    starts_[from.leaf] = leaf.starts()[0];
    if (gone > fresh.count && leaf.count < kLeaf / 2) join_next(from.leaf);
  }

  // So that leaves do not stay as empty as what was taken out of them has left them.
  void join_next(size_t leaf) {
    if (leaf + 1 >= leaves_.size() || leaves_[leaf].count + leaves_[leaf + 1].count > kLeaf * 3 / 4) return;
    const uint32_t count = leaves_[leaf].count, more = leaves_[leaf + 1].count;
    leaves_[leaf].resize_gap(count, 0, more);
    leaves_[leaf].take(leaves_[leaf + 1], 0, count, more);
    remove_leaves(leaf + 1, leaf + 2);
  }

  // What lies in the leaves behind the first goes; returns the end of what is left to replace in it.
  Cursor drop_between(Cursor from, Cursor to) {
    for (size_t leaf = from.leaf + 1; leaf < to.leaf; ++leaf) size_ -= leaves_[leaf].count;
    if (to.index > 0) {  // some are left in it: a place is in a leaf, or at the start of the next
      leaves_[to.leaf].resize_gap(0, to.index, 0);
      size_ -= to.index;
      starts_[to.leaf] = leaves_[to.leaf].starts()[0];
    }
    remove_leaves(from.leaf + 1, to.leaf);
    return {from.leaf, leaves_[from.leaf].count};
  }

  void remove_leaves(size_t first, size_t last) {
    const auto at = [](auto& list, size_t index) { return list.begin() + static_cast<ptrdiff_t>(index); };
    leaves_.erase(at(leaves_, first), at(leaves_, last));
    starts_.erase(at(starts_, first), at(starts_, last));
    if (leaves_.empty()) clear();
  }

  // Returns how many stay in the first.
  uint32_t split(size_t leaf) {
    const uint32_t stay = leaves_[leaf].count / 2, go = leaves_[leaf].count - stay;
    Leaf second = Leaf::with_room(kLeaf);
    second.take(leaves_[leaf], stay, 0, go);
    second.count = go;
    leaves_[leaf].count = stay;
    const auto behind = static_cast<ptrdiff_t>(leaf) + 1;
    starts_.insert(starts_.begin() + behind, second.starts()[0]);
    leaves_.insert(leaves_.begin() + behind, std::move(second));
    return stay;
  }

  // Behind all others.
  void append(uint64_t start, uint64_t end, const T& value) {
    if (leaves_.empty() || leaves_.back().count == kLeaf / 2) {
      leaves_.emplace_back();
      starts_.push_back(start);
    }
    Leaf& leaf = leaves_.back();
    leaf.resize_gap(leaf.count, 0, 1);
    leaf.starts()[leaf.count - 1] = start;
    leaf.ends()[leaf.count - 1] = end;
    leaf.values()[leaf.count - 1] = value;
    low_ = std::min(low_, start);
    high_ = end;
    ++size_;
  }

  std::vector<Leaf> leaves_;      // none is empty
  std::vector<uint64_t> starts_;  // of each leaf: where its first range starts
  size_t size_ = 0;
  uint64_t low_ = ~uint64_t{0}, high_ = 0;  // none starts before the one or ends behind the other
};

}  // namespace plat::inspect
