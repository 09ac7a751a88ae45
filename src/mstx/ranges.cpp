// SPDX-License-Identifier: Apache-2.0
#include "mstx/ranges.h"

#include <iterator>
#include <new>

namespace plat::mstx {

namespace {
// Behind which the range of an id comes, or would come.
auto place_of(uint64_t id, std::forward_list<Range>& ranges) {
  auto place = ranges.before_begin();
  while (std::next(place) != ranges.end() && std::next(place)->id != id) ++place;
  return place;
}
}  // namespace

uint64_t Ranges::open(Single range, uint64_t wanted) {
  for (;; wanted = last_.fetch_add(1, std::memory_order_relaxed) + 1) {
    Bucket& bucket = bucket_of(wanted);
    const std::lock_guard lock(bucket.lock);
    if (wanted == 0 || std::next(place_of(wanted, bucket.ranges)) != bucket.ranges.end()) continue;
    range.front().id = wanted;
    bucket.ranges.splice_after(bucket.ranges.before_begin(), range);
    open_.fetch_add(1, std::memory_order_relaxed);
    return wanted;
  }
}

Ranges::Single Ranges::close(uint64_t id) {
  Single range;
  Bucket& bucket = bucket_of(id);
  const std::lock_guard lock(bucket.lock);
  if (const auto place = place_of(id, bucket.ranges); std::next(place) != bucket.ranges.end()) {
    range.splice_after(range.before_begin(), bucket.ranges, place);
    open_.fetch_sub(1, std::memory_order_relaxed);
  }
  return range;
}

void Ranges::only_this_thread() {
  for (Bucket& bucket : buckets_) new (&bucket.lock) std::mutex;
}

}  // namespace plat::mstx
