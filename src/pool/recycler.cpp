// SPDX-License-Identifier: Apache-2.0
#include "pool/recycler.h"

#include <fmt/format.h>

#include <mutex>

#include "pool/messages.h"

namespace plat::pool {

plat_pool_status Recycler::put(Space& space, void* address, plat_stream stream) {
  uint16_t domain = streams_.domain_to_free_on(stream);
  if (domain == Streams::kNoStream) domain = 0;  // it was looked at before, and has finished since
  if (domain == Streams::kTooMany)
    return report(
        PLAT_POOL_DEVICE,
        fmt::format("pool {}: more than {} streams, and this one cannot be waited for: the block is "
                    "as it was; forget the streams that are gone",
                    name_, Streams::kMax));
  Zone& zone = *space.zone;
  if (zone.spans() == nullptr) {
    std::lock_guard guard(zone.lock());
    const core::RangeId block = zone.find(space, address);
    if (block == core::kNoBlock) return unknown_block(name_, address);
    zone.close(space, block);
    zone.heap().release(block, domain, domain != 0 ? streams_.join_batch(domain) : 0);
    return PLAT_POOL_OK;
  }
  const auto entry = space.small->entry(space.offset_of(address));
  if (!entry) return unknown_block(name_, address);
  if (options_.thread_cache != 0 && &zone == &zones_.small()) {
    if (ThreadCache* const cache = thread_cache_of(caches_)) {
      caches_.keep(*cache, domain != 0 ? stream : nullptr, entry.index(), address);
      return PLAT_POOL_OK;
    }
  }
  std::lock_guard guard(zone.lock());
  zone.put_back(entry.index(), address, domain, streams_);
  return PLAT_POOL_OK;
}

bool Recycler::collect(bool wait) {
  const auto freed = uses_.collect(wait);
  for (const Uses::Freed& block : freed) put(*index_.find(block.address), block.address, block.stream);
  if (!freed.empty()) fast_.refresh();
  return !freed.empty();
}

void Recycler::settle_zones(uint16_t domain, uint32_t batch, uint16_t to) {
  zones_.for_each([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    zone.settle(domain, batch, to, to != 0 ? streams_.join_batch(to) : 0);
  });
}

bool Recycler::settle(Streams::Effort effort, plat_stream waiter, uint16_t for_domain) {
  bool any = false;
  for (uint16_t domain = 1; domain <= streams_.count(); ++domain) {
    if (waiter != nullptr) {
      const uint32_t batch = domain != for_domain ? streams_.make_wait(domain, waiter) : 0;
      if (batch == 0) continue;
      settle_zones(domain, batch, for_domain);
    } else {
      const Streams::Passed passed = streams_.passed(domain, effort);
      if (passed.batch == 0) continue;
      settle_zones(domain, passed.batch);
      if (passed.gone != nullptr) {
        caches_.end(passed.gone, StreamCache::End::kGone);
        fast_.refresh();
        streams_.vacate(domain);
      }
    }
    any = true;
  }
  return any;
}

void Recycler::reclaim_spans() {
  zones_.for_each([](Zone& zone) {
    if (zone.spans() == nullptr) return;
    std::lock_guard guard(zone.lock());
    zone.reclaim_spans();
  });
}

void Recycler::return_caches() {
  caches_.request_flush();  // other threads return their blocks when they next pass by
  if (options_.thread_cache != 0) caches_.flush_mine();
  reclaim_spans();
}

bool Recycler::forget(plat_stream stream) {
  if (options_.thread_cache != 0) caches_.flush_mine();
  uint32_t batch = 0;
  const uint16_t domain = streams_.finish(stream, &batch);
  if (domain == Streams::kTooMany) return false;
  if (uses_.any()) {
    if (domain == 0 && !streams_.wait_for(stream)) return false;
    uses_.forget(stream);
    collect(false);
    fast_.refresh();
  }
  caches_.end(stream, StreamCache::End::kForgotten);
  fast_.refresh();
  if (options_.thread_cache != 0) caches_.flush_mine();
  if (domain == 0) return true;
  settle_zones(domain, batch);  // before the domain is another stream's
  streams_.vacate(domain);
  return true;
}

void Recycler::collect_idle() {
  collect(false);
  settle(Streams::Effort::kPoll);
  reclaim_spans();
}

}  // namespace plat::pool
