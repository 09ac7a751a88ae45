// SPDX-License-Identifier: Apache-2.0
#include "pool/caches.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace plat::pool {

void Caches::enlist(ThreadCache& cache) {
  std::lock_guard guard(mutex_);
  cache.flush_seen = flush_epoch_.load();
  caches_.push_back(&cache);
  if (caches_.size() > 1) depot_.widen();
}

void Caches::retire(ThreadCache& cache) {
  flush(cache);
  std::lock_guard guard(mutex_);
  std::erase(caches_, &cache);
}

StreamCache* Caches::of_stream(ThreadCache& cache, plat_stream stream) {
  drop_ended(cache);
  StreamCache* found = nullptr;
  for (auto& each : cache.of_streams)
    if (each->stream() == stream && each->ended() == StreamCache::End::kNone) found = each.get();
  if (found == nullptr) {
    auto fresh = std::make_unique<StreamCache>(stream);
    found = fresh.get();
    std::lock_guard guard(mutex_);
    cache.of_streams.push_back(std::move(fresh));
  }
  ready_cache = ReadyCache{key_, stream, found, zones_.of_thread(cache.zone), &cache};
  return found;
}

// The epoch is loaded relaxed: a thread that sees it late flushes one call later.
StreamCache* Caches::current(ThreadCache& cache, plat_stream stream) {
  if (cache.flush_seen != flush_epoch_.load(std::memory_order_relaxed)) flush(cache);
  return of_stream(cache, stream);
}

void Caches::keep(ThreadCache& cache, plat_stream stream, uint32_t index, void* address) {
  StreamCache* const mine = current(cache, stream);
  const SmallBlock block{address, index_.flag_at(address, index)};
  if (mine->push(index, block)) return;
  flush(*mine, index, spill_count(index));
  mine->push(index, block);
}

// What the fast path of the thread looks at, if that is of this pool, of no stream, and not asked back.
StreamCache* Caches::ready() const {
  const ReadyCache& ready = ready_cache;
  const bool plain = ready.key == key() && ready.stream == nullptr &&
                     ready.thread->flush_seen == flush_epoch_.load(std::memory_order_relaxed);
  return plain ? ready.cache : nullptr;
}

bool Caches::spill(uint32_t index) {
  StreamCache* const cache = ready();
  if (cache == nullptr || cache->room(index).count != 0) return false;
  const uint32_t taken = depot_.put(index, cache->oldest(index), spill_count(index));
  cache->drop_oldest(index, taken);
  return taken != 0;
}

bool Caches::refill(uint32_t index) {
  StreamCache* const cache = ready();
  if (cache == nullptr) return false;
  const StreamCache::Room room = cache->room(index);
  const uint32_t got = depot_.take(index, room.blocks, room.count);
  cache->grow(index, got);
  return got != 0;
}

// Those of streams that were forgotten go, whichever thread forgot them.
void Caches::drop_ended(ThreadCache& cache) {
  auto has_ended = [](const auto& each) { return each->ended() != StreamCache::End::kNone; };
  if (std::none_of(cache.of_streams.begin(), cache.of_streams.end(), has_ended)) return;
  for (auto& each : cache.of_streams)
    if (has_ended(each))
      for (uint32_t index = 0; index < kClasses; ++index) flush(*each, index, StreamCache::kMost);
  ready_cache = ReadyCache{};  // it may be one of them
  std::lock_guard guard(mutex_);
  std::erase_if(cache.of_streams, [&](auto& each) { return has_ended(each) && each->cached_blocks() == 0; });
}

void Caches::flush(StreamCache& cache, uint32_t index, uint32_t count) {
  std::array<SmallBlock, StreamCache::kMost> blocks;
  count = cache.drain(index, count, blocks.data());
  if (count == 0) return;
  auto keep_from = [&](uint32_t first) {
    for (; first < count; ++first) cache.push(index, blocks[first]);
  };
  // Asked anew: the stream may have been forgotten since the cache was made, and have another number now.
  uint16_t domain =
      cache.ended() == StreamCache::End::kForgotten ? 0 : streams_.domain_to_free_on(cache.stream());
  if (domain == Streams::kNoStream) domain = 0;  // it was there when the cache was made, and has finished
  if (domain == Streams::kTooMany) return keep_from(0);  // it cannot be waited for
  Zone& zone = zones_.small();
  uint32_t done = 0;
  try {
    if (domain == 0) done = depot_.put(index, blocks.data(), count);
    if (done == count) return;
    std::lock_guard guard(zone.lock());
    for (; done < count; ++done) zone.put_back(index, blocks[done].address, domain, streams_);
  } catch (...) {  // the host has no memory for the lists
    keep_from(done);
    throw;
  }
}

void Caches::flush(ThreadCache& cache) {
  cache.flush_seen = flush_epoch_.load(std::memory_order_relaxed);
  for (auto& each : cache.of_streams)
    for (uint32_t index = 0; index < kClasses; ++index) flush(*each, index, StreamCache::kMost);
  drop_ended(cache);
}

void Caches::flush_mine() {
  if (ThreadCache* const cache = thread_cache_of(*this)) flush(*cache);
}

void Caches::end(plat_stream stream, StreamCache::End how) {
  {
    std::lock_guard guard(mutex_);
    for (ThreadCache* cache : caches_)
      for (auto& each : cache->of_streams)
        if (each->stream() == stream) each->end(how);
  }
  ++key_;
}

bool Caches::wait_for_streams(Events& events) {
  std::vector<plat_stream> streams;
  {
    std::lock_guard guard(mutex_);
    for (const ThreadCache* cache : caches_)
      for (const auto& each : cache->of_streams)
        if (each->stream() != nullptr && each->ended() != StreamCache::End::kForgotten &&
            each->cached_blocks() != 0)
          streams.push_back(each->stream());
  }
  return std::all_of(streams.begin(), streams.end(),
                     [&](plat_stream stream) { return events.wait_for_stream(stream); });
}

bool Caches::hold_blocks() {
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  count(bytes, blocks);
  return blocks != 0;
}

void Caches::count(uint64_t& bytes, uint64_t& blocks) {
  std::lock_guard guard(mutex_);
  for (const ThreadCache* cache : caches_)
    for (const auto& each : cache->of_streams) {
      bytes += each->cached_bytes();
      blocks += each->cached_blocks();
    }
}

Zone* Caches::own_zone(plat_stream stream) {
  ThreadCache* const cache = thread_cache_of(*this);
  if (cache == nullptr || cache->zone == 0) return nullptr;
  if (ready_cache.key != key_) of_stream(*cache, stream);  // so that the fast path finds it next time
  return ready_cache.own_zone;
}

void Caches::note_contention() {
  ThreadCache* const cache = thread_cache_of(*this);
  if (cache == nullptr || cache->zone != 0 || ++cache->contention < kContentionLimit) return;
  std::array<uint32_t, Zones::kMaxOfThreads> users{};
  {
    std::lock_guard guard(mutex_);
    for (const ThreadCache* other : caches_)
      if (other->zone != 0) ++users[other->zone - 1];
  }
  const uint32_t zone = zones_.add_for_thread(users);
  {
    // Under the lock, because other threads count who uses which; its own thread alone changes it, and looks
    // without.
    std::lock_guard guard(mutex_);
    cache->zone = zone;
  }
  if (ready_cache.key == key_) ready_cache.own_zone = zones_.of_thread(cache->zone);
}

}  // namespace plat::pool
