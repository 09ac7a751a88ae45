#include "cli/replay_policy.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "base/units.h"
#include "pool/router.h"

namespace plat::replay {

namespace {

// Streams complete in order and at once: an event that was recorded has passed.
class PassedEvents final : public pool::Events {
 public:
  void* create() override { return this; }
  void destroy(void*) override {}
  bool record(void*, plat_stream) override { return true; }
  bool has_passed(void*) override { return true; }
  pool::StreamState state(plat_stream) override { return pool::StreamState::kIdle; }
  bool wait(void*) override { return true; }
  bool wait_for_stream(plat_stream) override { return true; }
  bool make_wait(plat_stream, void*) override { return true; }
};

// A device of numbers: pages are counted, addresses lead nowhere.
class CountingSource final : public pool::Source {
 public:
  explicit CountingSource(uint64_t bytes) : capacity_(bytes) {}
  bool has_pages() const override { return true; }
  pool::Outcome reserve(uint64_t bytes, void** base) override {
    *base = reinterpret_cast<void*>(next_);
    next_ += bytes + 1_GiB;
    return pool::Outcome::kDone;
  }
  pool::Outcome create_page(void** page) override {
    if ((pages_ + 1) * pool::kPageBytes > capacity_) return pool::Outcome::kNoMemory;
    *page = reinterpret_cast<void*>(++pages_);
    return pool::Outcome::kDone;
  }
  bool destroy_page(void*) override { return --pages_, true; }
  pool::Outcome map_page(void*, void*) override { return pool::Outcome::kDone; }
  pool::Outcome unmap_page(void*) override { return pool::Outcome::kDone; }
  uint64_t total_bytes() const override { return std::min<uint64_t>(capacity_, 64_GiB); }
  pool::Events& events() override { return events_; }

 private:
  PassedEvents events_;
  const uint64_t capacity_;
  uint64_t next_ = 16_TiB;
  uint64_t pages_ = 0;
};

class PoolPolicy final : public Policy {
 public:
  PoolPolicy(uint64_t device_bytes, uint32_t blocks, double slack, uint64_t max_remaps) : addresses_(blocks) {
    plat_pool_options options;
    plat_pool_options_init(&options);
    options.name = "replay";
    options.slack = slack;
    options.max_remaps = max_remaps;
    options.device = 0;
    plat_pool* pool = nullptr;
    pool::Router::create(options, std::make_unique<CountingSource>(device_bytes), &pool);
    pool_.reset(pool);
  }
  bool allocate(uint32_t block, uint64_t bytes, uint32_t stream) override {
    return pool_->allocate(pool::Request{bytes, 0, handle_of(stream)}, &addresses_[block]) == PLAT_POOL_OK;
  }
  void release(uint32_t block, uint32_t stream) override {
    pool_->release(addresses_[block], handle_of(stream));
  }
  void use(uint32_t block, uint32_t stream) override { pool_->use_on(addresses_[block], handle_of(stream)); }
  Counters counters() override {
    plat_pool_stats stats;
    pool_->stats(&stats);
    return {stats.reserved_bytes, stats.reserved_peak, stats.maps, stats.remaps, stats.most_remaps};
  }

 private:
  // A stream is never followed: any number but 0 will do.
  static plat_stream handle_of(uint32_t stream) {
    return reinterpret_cast<plat_stream>(static_cast<uintptr_t>(stream));
  }
  std::unique_ptr<plat_pool> pool_;
  std::vector<void*> addresses_;
};

// What the reference policies share: the rule of a segment, and counting.
class Reference : public Policy {
 public:
  Reference(uint64_t device_bytes, uint32_t blocks) : capacity_(device_bytes), places_(blocks) {}
  Counters counters() override { return counters_; }

 protected:
  struct Place {
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
  std::vector<Place> places_;
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
    places_[block] = {start, need};
    return true;
  }
  void release(uint32_t block, uint32_t) override { insert(places_[block].start, places_[block].bytes); }

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
    places_[block] = {start, need};
    return true;
  }
  void release(uint32_t block, uint32_t) override {
    auto [start, size] = places_[block];
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
    places_[block].bytes = align_up(segment(bytes), 2_MiB);
    return charge(places_[block].bytes);
  }
  void release(uint32_t block, uint32_t) override { counters_.reserved_bytes -= places_[block].bytes; }
};

}  // namespace

std::unique_ptr<Policy> make_policy(const std::string& name, uint64_t device_bytes, uint32_t blocks,
                                    double slack, uint64_t max_remaps) {
  if (name == "pool") return std::make_unique<PoolPolicy>(device_bytes, blocks, slack, max_remaps);
  if (name == "best-fit") return std::make_unique<BestFit>(device_bytes, blocks);
  if (name == "buddy") return std::make_unique<Buddy>(device_bytes, blocks);
  if (name == "page-run") return std::make_unique<PageRun>(device_bytes, blocks);
  return nullptr;
}

}  // namespace plat::replay
