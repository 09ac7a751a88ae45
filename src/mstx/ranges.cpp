// SPDX-License-Identifier: Apache-2.0
#include "mstx/ranges.h"

#include <new>

namespace plat::mstx {

namespace {

// Where the range of an id hangs, or would.
std::unique_ptr<Range>* find(std::unique_ptr<Range>* link, uint64_t id) {
  while (*link != nullptr && (*link)->id != id) link = &(*link)->next;
  return link;
}

}  // namespace

bool Ranges::insert(std::unique_ptr<Range>& range, uint64_t id) {
  Bucket& bucket = bucket_of(id);
  const std::lock_guard lock(bucket.lock);
  if (id == 0 || *find(&bucket.first, id) != nullptr) return false;
  range->id = id;
  range->next = std::move(bucket.first);
  bucket.first = std::move(range);
  return true;
}

uint64_t Ranges::open(std::unique_ptr<Range> range, uint64_t wanted) {
  open_.fetch_add(1, std::memory_order_relaxed);
  while (!insert(range, wanted)) wanted = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  return wanted;
}

std::unique_ptr<Range> Ranges::close(uint64_t id) {
  Bucket& bucket = bucket_of(id);
  const std::lock_guard lock(bucket.lock);
  std::unique_ptr<Range>* const link = find(&bucket.first, id);
  if (*link == nullptr) return nullptr;
  std::unique_ptr<Range> range = std::move(*link);
  *link = std::move(range->next);
  open_.fetch_sub(1, std::memory_order_relaxed);
  return range;
}

void Ranges::only_this_thread() {
  for (Bucket& bucket : buckets_) new (&bucket.lock) std::mutex;
}

}  // namespace plat::mstx
