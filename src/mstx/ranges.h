// SPDX-License-Identifier: Apache-2.0
// Open ranges: the id that the client has, and what each tool called it.
//
// A range that one tool alone heard of has that tool's own id, so that what the client sees is what the tool
// writes down; where several heard of it, or the id is that of another open range, it gets one of ours.
// Either way the id is looked up here, so it stays good, and means the same range, when tools come and go.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "mstx/broker_types.h"

namespace plat::mstx {

struct Range {
  struct Part {
    uint32_t tool;  // 0: the tool in this slot had no part in it
    uint64_t id;    // as the tool gave it, 0 included: some count from 0
  };
  std::array<Part, PLAT_MSTX_TOOLS_MAX> parts{};
  uint64_t id = 0;
  std::unique_ptr<Range> next;  // in its bucket
};

class Ranges {
 public:
  // Ranges that may be open at once. A program that never ends its ranges stops getting new ones here.
  static constexpr uint32_t kMax = 1u << 18;

  bool is_full() const { return open_.load(std::memory_order_relaxed) >= kMax; }
  // Makes it known, under this id if that is not 0 and not taken. The result is for the client, never 0.
  uint64_t open(std::unique_ptr<Range> range, uint64_t wanted) {
    open_.fetch_add(1, std::memory_order_relaxed);
    while (!insert(range, wanted)) wanted = last_.fetch_add(1, std::memory_order_relaxed) + 1;
    return wanted;
  }
  // The range of an id, which is none from now on; nullptr if the id names none.
  std::unique_ptr<Range> close(uint64_t id) {
    Bucket& bucket = bucket_of(id);
    const std::lock_guard lock(bucket.lock);
    std::unique_ptr<Range>& link = bucket.link_to(id);
    if (link == nullptr) return nullptr;
    open_.fetch_sub(1, std::memory_order_relaxed);
    return std::exchange(link, std::move(link->next));
  }

  // After fork: a lock that another thread held is nobody's.
  void only_this_thread() {
    for (Bucket& bucket : buckets_) std::construct_at(&bucket.lock);
  }

 private:
  // Ours begin like this, as those of no tool do that counts.
  static constexpr uint64_t kOurs = uint64_t{0xD4} << 56;

  struct Bucket {
    std::mutex lock;
    std::unique_ptr<Range> first;

    // Where the range of an id hangs, or would.
    std::unique_ptr<Range>& link_to(uint64_t id) {
      std::unique_ptr<Range>* link = &first;
      while (*link != nullptr && (*link)->id != id) link = &(*link)->next;
      return *link;
    }
  };
  Bucket& bucket_of(uint64_t id) { return buckets_[(id * 0x9e3779b97f4a7c15ull) >> 54]; }
  // Takes the range if nobody has the id.
  bool insert(std::unique_ptr<Range>& range, uint64_t id) {
    Bucket& bucket = bucket_of(id);
    const std::lock_guard lock(bucket.lock);
    if (id == 0 || bucket.link_to(id) != nullptr) return false;
    range->id = id;
    range->next = std::move(bucket.first);
    bucket.first = std::move(range);
    return true;
  }

  std::array<Bucket, 1024> buckets_;
  std::atomic<uint32_t> open_{0};
  std::atomic<uint64_t> last_{kOurs};
};

}  // namespace plat::mstx
