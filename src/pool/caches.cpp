// The pool's side of the thread caches: lanes, flushing them, and what else small blocks need when they come
// back.
#include <algorithm>

#include "pool/pool_impl.h"

namespace plat::pool {

void Pool::enlist(ThreadCache& cache) {
  std::lock_guard guard(caches_mutex_);
  cache.flush_seen = flush_epoch_.load();
  caches_.push_back(&cache);
}

void Pool::retire(ThreadCache& cache) {
  flush_cache(cache);
  std::lock_guard guard(caches_mutex_);
  std::erase(caches_, &cache);
}

Lane* Pool::lane_of(ThreadCache& cache, plat_stream stream) {
  drop_ended(cache);
  Lane* lane = nullptr;
  for (auto& each : cache.lanes)
    if (each->stream() == stream && !each->ended()) lane = each.get();
  if (lane == nullptr) {
    auto fresh = std::make_unique<Lane>(stream);
    lane = fresh.get();
    std::lock_guard guard(caches_mutex_);
    cache.lanes.push_back(std::move(fresh));
  }
  Zone* shard = cache.shard != 0 ? shards_[cache.shard - 1].load(std::memory_order_acquire) : nullptr;
  hot_lane = HotLane{key_, stream, lane, shard};
  return lane;
}

// The same, after the cache has returned what was asked back since.
Lane* Pool::fresh_lane(ThreadCache& cache, plat_stream stream) {
  if (cache.flush_seen != flush_epoch_.load(std::memory_order_relaxed)) flush_cache(cache);
  return lane_of(cache, stream);
}

// Lanes of streams that were forgotten go, whichever thread forgot them.
void Pool::drop_ended(ThreadCache& cache) {
  if (std::none_of(cache.lanes.begin(), cache.lanes.end(), [](auto& lane) { return lane->ended(); })) return;
  for (auto& lane : cache.lanes)
    if (lane->ended())
      for (uint32_t index = 0; index < kClasses; ++index) flush_lane(*lane, index, 64);
  hot_lane = HotLane{};  // it may be one of them
  std::lock_guard guard(caches_mutex_);
  std::erase_if(cache.lanes, [](auto& lane) { return lane->ended() && lane->cached_blocks() == 0; });
}

void Pool::flush_lane(Lane& lane, uint32_t index, uint32_t count) {
  void* batch[64];
  count = lane.drain(index, count, batch);
  if (count == 0) return;
  // Asked anew: the stream may have been forgotten since the lane was made, and have another number now.
  uint16_t domain = lane.ended() ? 0 : streams_.domain_to_free_on(lane.stream());
  if (domain == Streams::kNoStream) domain = 0;  // it was there when the lane was made, and has finished
  if (domain == Streams::kTooMany) {             // it cannot be waited for: the thread keeps them
    for (uint32_t i = 0; i < count; ++i) lane.push(index, {batch[i], mark_of(batch[i], index)});
    return;
  }
  uint32_t done = 0;
  try {
    std::lock_guard guard(small_->lock());
    if (domain == 0) done = small_->spans()->stow(index, batch, count);
    for (; done < count; ++done) return_block(*small_, span_of(batch[done]), index, batch[done], domain);
  } catch (...) {  // the host has no memory for the lists: the thread keeps them
    for (; done < count; ++done) lane.push(index, {batch[done], mark_of(batch[done], index)});
    throw;
  }
}

// The stream is forgotten: no thread may file blocks under it any more, which are nobody's now.
void Pool::end_lanes(plat_stream stream) {
  {
    std::lock_guard guard(caches_mutex_);
    for (ThreadCache* cache : caches_)
      for (auto& lane : cache->lanes)
        if (lane->stream() == stream) lane->end();
  }
  ++key_;
  refresh_front();
}

// For the streams whose freed blocks threads keep; false when one refuses.
bool Pool::wait_for_lanes() {
  std::vector<plat_stream> streams;
  {
    std::lock_guard guard(caches_mutex_);
    for (const ThreadCache* cache : caches_)
      for (const auto& lane : cache->lanes)
        if (lane->stream() != nullptr && !lane->ended() && lane->cached_blocks() != 0)
          streams.push_back(lane->stream());
  }
  return std::all_of(streams.begin(), streams.end(),
                     [&](plat_stream stream) { return source_->events().wait_for_stream(stream); });
}

uint32_t Pool::span_of(const void* small_block) const {
  const Space& space = *index_.find(small_block);
  return space.small->entry(space.offset_of(small_block)).span();
}

void Pool::flush_cache(ThreadCache& cache) {
  cache.flush_seen = flush_epoch_.load(std::memory_order_relaxed);
  for (auto& lane : cache.lanes)
    for (uint32_t index = 0; index < kClasses; ++index) flush_lane(*lane, index, 64);
  drop_ended(cache);
}

plat_pool_status Pool::flush_thread() {
  if (options_.thread_cache == 0) return PLAT_POOL_OK;
  if (ThreadCache* cache = thread_cache_of(*this)) flush_cache(*cache);
  return PLAT_POOL_OK;
}

// Needs the zone's lock.
void Pool::return_block(Zone& zone, uint32_t span, uint32_t index, void* address, uint16_t domain) {
  if (domain != 0) {
    zone.spans()->defer(index, span, address, domain, streams_.mark(domain));
    return;
  }
  bool twice = false;
  const uint32_t empty = zone.spans()->give(span, address, &twice);
  if (empty != kNoSpan) drop_span(zone, empty);
}

// Needs the zone's lock.
void Pool::drop_span(Zone& zone, uint32_t id) {
  const Span& span = zone.spans()->at(id);
  const uint32_t block = span.block;
  Space& space = zone.space_of(zone.heap().block(block).start);
  space.small->remove(space.offset_of(span.base), span.index);
  zone.spans()->drop(id);
  zone.close(space, block);
  zone.heap().release(block);
}

// Needs the zone's lock.
void Pool::live_blocks(Zone& zone, const Span& span, std::vector<const void*>& out) {
  const Space& space = zone.space_of(zone.heap().block(span.block).start);
  for (uint32_t slot = 0; slot < span.total; ++slot) {
    const char* address = span.base + uint64_t{slot} * class_bytes(span.index);
    if (space.small->find(space.offset_of(address), span.index)) out.push_back(address);
  }
}

void Pool::reclaim_spans() {
  for_zones([&](Zone& zone) {
    if (zone.spans() == nullptr) return;
    std::lock_guard guard(zone.lock());
    std::vector<void*> stowed;
    for (uint32_t index = 0; index < kClasses; ++index) {
      zone.spans()->unstow(index, stowed);
      for (void* block : stowed) return_block(zone, span_of(block), index, block, 0);
    }
    std::vector<uint32_t> spare;
    zone.spans()->spare(spare);
    for (uint32_t id : spare) drop_span(zone, id);
  });
}

}  // namespace plat::pool
