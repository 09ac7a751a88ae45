// SPDX-License-Identifier: Apache-2.0
#include "pool/placer.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "pool/messages.h"

namespace plat::pool {

plat_pool_status Placer::place(const Request& request, void** address) {
  const uint16_t domain = streams_.domain_of(request.stream);
  if (domain == Streams::kNoStream) return no_such_stream(name_, request.stream);
  if (domain == Streams::kTooMany) return too_many_streams(name_);
  const uint32_t index = shape_.class_of(request);
  return index != BlockShape::kLarge ? place_small(request, index, domain, address)
                                     : place_large(request, domain, address);
}

bool Placer::place_small_at_once(uint64_t bytes, plat_stream stream, void** address) {
  const FastPath& path = fast_.path();
  // The depot is for blocks of no stream. A closed path has another key: then nothing comes out of it either.
  if (bytes == 0 || stream != nullptr || path.key.load(std::memory_order_relaxed) != caches_.key() ||
      !caches_.refill(path.class_of(bytes)))
    return false;
  void* const block = path.pop(bytes, stream);
  if (block == nullptr) return false;
  *address = block;
  return true;
}

bool Placer::place_on_stream(Zone& zone, uint32_t granules, uint64_t bytes, plat_stream stream,
                             void** address) {
  const uint16_t domain = streams_.domain_of(stream);
  if (!Streams::is_domain(domain)) return false;
  {
    const std::unique_lock guard(zone.lock(), std::try_to_lock);
    if (!guard || zone.is_asleep() || !fast_.is_open_for_large()) return false;
    const core::RangeId block = zone.heap().allocate(granules, 1, domain);
    if (block == core::kNoBlock) return false;
    *address = zone.open(block, bytes);
  }
  zones_.note_peak(zone);
  return true;
}

// Blocks of a class from the zone's spans, one of them for the caller; a new span is cut when there are none.
// Its address is null when the zone has no place for one, or sleeps.
SmallBlock Placer::take_small(Zone& zone, uint32_t index, uint16_t domain, StreamCache* cache) {
  std::array<SmallBlock, StreamCache::kMost> blocks;
  const uint32_t want = cache != nullptr ? cache_capacity(index) : 1;
  const uint32_t fresh = cache != nullptr ? cut_count(index) : 1;
  std::unique_lock guard(zone.lock());
  if (zone.is_asleep()) return {};
  uint32_t got = zone.spans()->take(index, domain, blocks.data(), want, fresh);
  if (got == 0) {
    // Spans belong to nobody's stream: only memory that is idle becomes one.
    const uint32_t granules = span_bytes(index) >> core::kGranuleShift;
    const core::RangeId block = zone.heap().allocate(granules, granules, 0);
    if (block == core::kNoBlock) return {};
    zone.cut_span(index, block);
    got = zone.spans()->take(index, domain, blocks.data(), want, fresh);
  }
  guard.unlock();
  for (uint32_t i = 0; i < got; ++i)
    if (blocks[i].flag == nullptr) blocks[i].flag = index_.flag_at(blocks[i].address, index);
  uint32_t left = got - 1;
  while (left > 0 && cache->push(index, blocks[left])) --left;
  if (left == 0) return blocks[0];
  // Growing may have called the program back, which may have filled the cache.
  guard.lock();
  for (; left > 0; --left) zone.put_back(index, blocks[left].address, domain, streams_);
  return blocks[0];
}

plat_pool_status Placer::place_small(const Request& request, uint32_t index, uint16_t domain,
                                     void** address) {
  Zone& zone = request.tag != 0 ? zones_.of_tag(request.tag, true) : zones_.small();
  const bool cached = options_.thread_cache != 0 && request.tag == 0;
  ThreadCache* const thread = cached ? thread_cache_of(caches_) : nullptr;
  StreamCache* cache = thread != nullptr ? caches_.current(*thread, request.stream) : nullptr;
  if (zone.is_asleep()) return memory_sleeps(name_);
  SmallBlock found{};
  if (cache != nullptr) found = cache->pop(index);
  if (found.address == nullptr) {
    while ((found = take_small(zone, index, domain, cache)).address == nullptr) {
      if (zone.is_asleep()) return memory_sleeps(name_);
      const uint32_t granules = span_bytes(index) >> core::kGranuleShift;
      core::RangeId block = core::kNoBlock;
      const auto status = ladder_.place(zone, granules, granules, {request.bytes, 0, request.stream}, &block);
      if (status != PLAT_POOL_OK) return status;
      // The program may have been called back, and may have forgotten the stream.
      if (cache != nullptr) cache = caches_.of_stream(*thread, request.stream);
      std::lock_guard guard(zone.lock());
      zone.cut_span(index, block);
    }
    zones_.note_peak(zone);
  }
  SmallTable::open(*found.flag);
  *address = found.address;
  return PLAT_POOL_OK;
}

Zone& Placer::large_zone_for(const Request& request) {
  if (request.tag != 0) return zones_.of_tag(request.tag, false);
  if (request.bytes > kMostOfThread || !has_zones_of_threads()) return zones_.large();
  // One zone packs best. Only a thread that keeps finding it taken gets one of its own.
  Zone* const own = caches_.own_zone(request.stream);
  return own != nullptr ? *own : zones_.large();
}

plat_pool_status Placer::place_large(const Request& request, uint16_t domain, void** address) {
  Zone& zone = large_zone_for(request);
  const uint32_t granules = std::max(shape_.granules_of(request.bytes), zone.least_granules());
  const uint32_t align =
      std::max<uint32_t>(1, static_cast<uint32_t>(request.alignment >> core::kGranuleShift));
  std::unique_lock guard(zone.lock(), std::try_to_lock);
  if (!guard) {
    if (&zone == &zones_.large() && request.bytes <= kMostOfThread && has_zones_of_threads())
      caches_.note_contention();
    guard.lock();
  }
  if (zone.is_asleep()) return memory_sleeps(name_);
  core::RangeId block = core::kNoBlock;
  if (!backing_.is_tight(zone, granules)) [[likely]]
    block = zone.heap().allocate(granules, align, domain);
  if (block == core::kNoBlock) {
    guard.unlock();
    const auto status = ladder_.place(zone, granules, align, {request.bytes, domain, request.stream}, &block);
    if (status != PLAT_POOL_OK) return status;
    guard.lock();
  }
  *address = zone.open(block, request.bytes);
  guard.unlock();
  zones_.note_peak(zone);
  return PLAT_POOL_OK;
}

}  // namespace plat::pool
