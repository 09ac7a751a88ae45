// SPDX-License-Identifier: Apache-2.0
// RangeBins: which free range is the tightest for a request, in constant time.
//
// Two-level segregated lists: the first level is the power of two of a size, the second cuts it into 32 equal
// steps, and a bitmap for each level finds the next bin that holds anything. Inside a bin a bounded look
// prefers the smallest range that fits, which packs almost as well as a full best fit. Nothing here touches
// the memory that is managed: links live in the block records.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/range_block.h"

namespace plat::core {

class RangeBins {
 public:
  RangeBins() { heads_.fill(kListEnd); }

  void insert(Block* blocks, RangeId id) { insert(blocks, id, bin_of(blocks[id.value].size)); }
  void remove(Block* blocks, RangeId id) { unlink(blocks, id, bin_of(blocks[id.value].size)); }
  [[gnu::always_inline]] void unlink(Block* blocks, RangeId id, uint32_t bin) {
    const RangeId next = blocks[id.value].free_next;
    const RangeId prev = blocks[id.value].free_prev;
    blocks[next.value].free_prev = prev;
    blocks[prev.value].free_next = next;
    heads_[bin] = choose(prev == kListEnd, next, heads_[bin]);
    const uint32_t level = bin >> kStepBits;
    const uint32_t steps =
        second_[level] & ~(uint32_t{(prev.value | next.value) == kListEnd.value} << (bin & (kSteps - 1)));
    second_[level] = steps;
    first_ &= ~(uint32_t{steps == 0} << level);
  }

  // The range has another size than when it was filed in `bin`.
  [[gnu::always_inline]] void refile(Block* blocks, RangeId id, uint32_t bin) {
    const uint32_t now = bin_of(blocks[id.value].size);
    if (now == bin) return;
    unlink(blocks, id, bin);
    insert(blocks, id, now);
  }
  // `heir` takes the place of `id`, which leaves `bin`: in its list, if it is for the same bin.
  [[gnu::always_inline]] void inherit(Block* blocks, RangeId id, uint32_t bin, RangeId heir) {
    const uint32_t now = bin_of(blocks[heir.value].size);
    if (now != bin) {
      unlink(blocks, id, bin);
      insert(blocks, heir, now);
      return;
    }
    const RangeId next = blocks[id.value].free_next;
    const RangeId prev = blocks[id.value].free_prev;
    blocks[heir.value].free_next = next;
    blocks[heir.value].free_prev = prev;
    blocks[next.value].free_prev = heir;
    blocks[prev.value].free_next = heir;
    heads_[bin] = choose(prev == kListEnd, heir, heads_[bin]);
  }

  struct Found {
    RangeId id;
    uint32_t bin;
  };
  // The smallest range of at least `size` granules that a look at `own_looks` ranges of its own bin and
  // `next_looks` of the next one finds; kNoBlock when there is none. A look of zero in the own bin means all
  // of it.
  [[gnu::always_inline]] Found look(const Block* blocks, uint32_t size, uint32_t own_looks,
                                    uint32_t next_looks) const {
    const uint32_t bin = bin_of(size);
    const RangeId own = tightest(blocks, heads_[bin], size, own_looks);
    if (own != kNoBlock) return {own, bin};
    const uint32_t next = next_used(bin + 1);
    if (next == kNoBin) return {kNoBlock, kNoBin};
    return {tightest(blocks, heads_[next], size, next_looks), next};
  }

  // Walks every range, largest bins first, until `visit` says stop by returning false.
  template <class Visit>
  void walk_down(const Block* blocks, Visit&& visit) const {
    for (uint32_t bin = kBins; bin-- > 0;) {
      if ((second_[bin >> kStepBits] >> (bin & (kSteps - 1)) & 1u) == 0) continue;
      for (RangeId id = heads_[bin]; id != kListEnd;) {
        const RangeId next = blocks[id.value].free_next;  // read first: the visitor may take the block out
        if (!visit(id)) return;
        id = next;
      }
    }
  }

  static uint32_t bin_of(uint32_t size) {
    // Of the six leading bits, the first says no more than the power of two does.
    const auto shift = static_cast<uint32_t>(std::bit_width(size | kSteps)) - 1 - kStepBits;
    return (shift << kStepBits) + (size >> shift);
  }

 private:
  static constexpr uint32_t kStepBits = 5;
  static constexpr uint32_t kSteps = 1u << kStepBits;
  static constexpr uint32_t kLevels = 32 - kStepBits + 1;
  static constexpr uint32_t kBins = kLevels * kSteps;
  static constexpr uint32_t kNoBin = UINT32_MAX;
  static constexpr uint32_t kTooShort = ~0u << 27;  // ranges of a bin differ by less than the rest of it

  // Without a branch, which nothing could predict.
  static RangeId choose(bool first, RangeId one, RangeId other) {
    return RangeId(other.value ^ ((one.value ^ other.value) & (0u - uint32_t{first})));
  }
  // The smallest range of at least `size` among the first `looks` of a list.
  [[gnu::always_inline]] static RangeId tightest(const Block* blocks, RangeId id, uint32_t size,
                                                 uint32_t looks) {
    RangeId best = kNoBlock;
    uint32_t least = kTooShort;  // what the best one leaves
    for (; id != kListEnd; id = blocks[id.value].free_next) {
      const uint32_t left =
          blocks[id.value].size - size;  // of a range that is too short: more than any leaves
      // Two conditional moves after one comparison, and no branch.
      const bool better = left < least;
      best = better ? id : best;
      least = better ? left : least;
      if (left == 0 || --looks == 0) break;
    }
    return best;
  }
  [[gnu::always_inline]] void insert(Block* blocks, RangeId id, uint32_t bin) {
    const RangeId head = heads_[bin];
    blocks[id.value].free_prev = kListEnd;
    blocks[id.value].free_next = head;
    blocks[head.value].free_prev = id;
    heads_[bin] = id;
    first_ |= 1u << (bin >> kStepBits);
    second_[bin >> kStepBits] |= 1u << (bin & (kSteps - 1));
  }
  // The first bin from `bin` on that holds anything.
  [[gnu::always_inline]] uint32_t next_used(uint32_t bin) const {
    uint32_t level = bin >> kStepBits;
    if (level >= kLevels) return kNoBin;
    const uint32_t steps = second_[level] & (~0u << (bin & (kSteps - 1)));
    if (steps != 0) return (level << kStepBits) + static_cast<uint32_t>(std::countr_zero(steps));
    if (level + 1 >= kLevels) return kNoBin;
    const uint32_t levels = first_ & (~0u << (level + 1));
    if (levels == 0) return kNoBin;
    level = static_cast<uint32_t>(std::countr_zero(levels));
    return (level << kStepBits) + static_cast<uint32_t>(std::countr_zero(second_[level]));
  }

  uint32_t first_ = 0;
  std::array<uint32_t, kLevels> second_{};
  std::array<RangeId, kBins> heads_;
};

}  // namespace plat::core
