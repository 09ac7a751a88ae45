// SPDX-License-Identifier: Apache-2.0
// The plain policies, which show what the pool is worth.
#include "replay/policy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "base/units.h"

namespace plat::replay {

namespace {

// What the reference policies share: the rule of a segment, and counting.
class Reference : public Policy {
 public:
  Reference(uint64_t device_bytes, uint32_t blocks) : capacity_(device_bytes), blocks_(blocks) {}
  Counters counters() override { return counters_; }

 protected:
  struct Block {
    uint64_t start = 0;
    uint64_t bytes = 0;
  };
  static uint64_t segment(uint64_t bytes) { return align_up(align_up(bytes, 32) + 32, 512); }
  bool charge(uint64_t bytes) {
    if (counters_.reserved_bytes + bytes > capacity_) return false;
    counters_.reserved_bytes += bytes;
    counters_.reserved_peak = std::max(counters_.reserved_peak, counters_.reserved_bytes);
    ++counters_.maps;
    return true;
  }
  const uint64_t capacity_;
  std::vector<Block> blocks_;
  Counters counters_;
};

// One growing range, best fit, address-ordered merging: what a careful allocator without page tables can do.
class BestFit final : public Reference {
 public:
  using Reference::Reference;
  bool allocate(uint32_t block, uint64_t bytes, uint32_t) override {
    const uint64_t need = segment(bytes);
    auto fit = by_size_.lower_bound({need, 0});
    if (fit == by_size_.end()) {
      // Grow at the end, together with a free range that touches it.
      uint64_t start = end_;
      if (auto last = by_start_.empty() ? by_start_.end() : std::prev(by_start_.end());
          last != by_start_.end() && last->first + last->second == end_)
        start = last->first;
      const uint64_t target = align_up(start + need, 2_MiB);
      if (!charge(target - end_)) return false;
      insert(end_, target - end_);
      end_ = target;
      fit = by_size_.lower_bound({need, 0});
    }
    const auto [size, start] = *fit;
    by_size_.erase(fit);
    by_start_.erase(start);
    if (size > need) insert(start + need, size - need);
    blocks_[block] = {start, need};
    return true;
  }
  void release(uint32_t block, uint32_t) override { insert(blocks_[block].start, blocks_[block].bytes); }

 private:
  void insert(uint64_t start, uint64_t bytes) {
    auto next = by_start_.lower_bound(start);
    if (next != by_start_.end() && next->first == start + bytes) {
      bytes += next->second;
      by_size_.erase({next->second, next->first});
      next = by_start_.erase(next);
    }
    if (next != by_start_.begin()) {
      auto previous = std::prev(next);
      if (previous->first + previous->second == start) {
        start = previous->first;
        bytes += previous->second;
        by_size_.erase({previous->second, previous->first});
        by_start_.erase(previous);
      }
    }
    by_start_[start] = bytes;
    by_size_.insert({bytes, start});
  }
  std::map<uint64_t, uint64_t> by_start_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
  uint64_t end_ = 0;
};

// Powers of two from 512 bytes, in regions of 64 MiB or the request.
class Buddy final : public Reference {
 public:
  using Reference::Reference;
  bool allocate(uint32_t block, uint64_t bytes, uint32_t) override {
    const uint64_t need = std::bit_ceil(segment(bytes));
    uint64_t size = need;
    while (size <= kLargest && free_[std::countr_zero(size)].empty()) size *= 2;
    if (size > kLargest) {
      size = std::max<uint64_t>(need, 64_MiB);
      if (!charge(size)) return false;
      free_[std::countr_zero(size)].insert(next_);
      next_ += std::max<uint64_t>(size, kLargest);  // aligned for any buddy, never merged with another region
      regions_[next_ - std::max<uint64_t>(size, kLargest)] = size;
    }
    auto& list = free_[std::countr_zero(size)];
    const uint64_t start = *list.begin();
    list.erase(list.begin());
    for (; size > need; size /= 2) free_[std::countr_zero(size / 2)].insert(start + size / 2);
    blocks_[block] = {start, need};
    return true;
  }
  void release(uint32_t block, uint32_t) override {
    auto [start, size] = blocks_[block];
    const auto region = std::prev(regions_.upper_bound(start));
    while (size < region->second && free_[std::countr_zero(size)].erase(start ^ size) != 0) {
      start = std::min(start, start ^ size);
      size *= 2;
    }
    free_[std::countr_zero(size)].insert(start);
  }

 private:
  static constexpr uint64_t kLargest = uint64_t{1} << 40;
  std::array<std::set<uint64_t>, 42> free_;
  std::map<uint64_t, uint64_t> regions_;
  uint64_t next_ = 0;
};

// A run of whole pages for each request, given back on free: no fragmentation, all rounding.
class PageRun final : public Reference {
 public:
  using Reference::Reference;
  bool allocate(uint32_t block, uint64_t bytes, uint32_t) override {
    blocks_[block].bytes = align_up(segment(bytes), 2_MiB);
    return charge(blocks_[block].bytes);
  }
  void release(uint32_t block, uint32_t) override { counters_.reserved_bytes -= blocks_[block].bytes; }
};

}  // namespace

std::unique_ptr<Policy> make_policy(const std::string& name, uint64_t device_bytes, uint32_t blocks,
                                    double slack, uint64_t max_remaps) {
  if (name == "pool") return make_pool_policy(device_bytes, blocks, slack, max_remaps);
  if (name == "best-fit") return std::make_unique<BestFit>(device_bytes, blocks);
  if (name == "buddy") return std::make_unique<Buddy>(device_bytes, blocks);
  if (name == "page-run") return std::make_unique<PageRun>(device_bytes, blocks);
  return nullptr;
}

}  // namespace plat::replay
