// SPDX-License-Identifier: Apache-2.0
#include "pool/thread_cache.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/thread_sanitizer.h"
#include "pool/pool.h"
#include "pool/process.h"

namespace plat::pool {

constinit thread_local ReadyCache ready_cache;

namespace {

// Guards the table of live pools. Held while a dying thread returns its blocks, so that the pool cannot go
// meanwhile.
struct Registry {
  std::mutex mutex;
  std::unordered_map<uint64_t, Pool*> pools;
};
Registry& registry() { return of_this_process<Registry>(); }

constinit thread_local bool ended = false;  // what outlives the caches of a thread may still free blocks

struct ThreadCaches {
  std::vector<std::unique_ptr<ThreadCache>> caches;
  ~ThreadCaches() {
    const tsan::Unwatched unwatched;
    ready_cache = ReadyCache{};
    ended = true;
    Registry& all = registry();
    std::lock_guard guard(all.mutex);
    for (auto& cache : caches)
      if (auto pool = all.pools.find(cache->pool_id); pool != all.pools.end())
        pool->second->caches().retire(*cache);
  }
};
thread_local ThreadCaches thread_caches;

}  // namespace

StreamCache::StreamCache(plat_stream stream) : stream_(stream) {
  uint32_t total = 0;
  for (uint32_t index = 0; index < kClasses; ++index) total += cache_capacity(index);
  blocks_ = std::make_unique<SmallBlock[]>(total);
  SmallBlock* next = blocks_.get();
  for (uint32_t index = 0; index < kClasses; ++index) {
    stacks_[index].blocks = next;
    stacks_[index].capacity = cache_capacity(index);
    next += cache_capacity(index);
  }
}

uint32_t StreamCache::drain(uint32_t index, uint32_t count, SmallBlock* out) {
  Stack& stack = stacks_[index];
  const uint32_t have = stack.count.load(std::memory_order_relaxed);
  count = std::min(count, have);
  std::copy_n(stack.blocks, count, out);
  drop_oldest(index, count);
  return count;
}

void StreamCache::drop_oldest(uint32_t index, uint32_t count) {
  Stack& stack = stacks_[index];
  const uint32_t have = stack.count.load(std::memory_order_relaxed);
  std::copy(stack.blocks + count, stack.blocks + have, stack.blocks);
  stack.count.store(have - count, std::memory_order_relaxed);
}

uint64_t StreamCache::cached_bytes() const {
  uint64_t bytes = 0;
  for (uint32_t index = 0; index < kClasses; ++index)
    bytes += uint64_t{stacks_[index].count.load(std::memory_order_relaxed)} * class_bytes(index);
  return bytes;
}

uint64_t StreamCache::cached_blocks() const {
  uint64_t blocks = 0;
  for (const Stack& stack : stacks_) blocks += stack.count.load(std::memory_order_relaxed);
  return blocks;
}

ThreadCache* thread_cache_of(Caches& caches) {
  if (ended) return nullptr;
  for (auto& cache : thread_caches.caches)
    if (cache->pool_id == caches.id()) return cache.get();
  auto cache = std::make_unique<ThreadCache>();
  cache->pool_id = caches.id();
  thread_caches.caches.push_back(std::move(cache));
  caches.enlist(*thread_caches.caches.back());
  return thread_caches.caches.back().get();
}

uint64_t next_pool_id() {
  static std::atomic<uint64_t> last{0};  // of all processes: a child still has caches of its parent's pools
  return ++last;
}

void announce_pool(uint64_t id, Pool& pool) {
  Registry& all = registry();
  std::lock_guard guard(all.mutex);
  all.pools[id] = &pool;
}

void forget_pool(uint64_t id) {
  Registry& all = registry();
  std::lock_guard guard(all.mutex);
  all.pools.erase(id);
}

void for_other_pools(Pool& pool, void (*visit)(Pool& other, Pool& asking)) {
  Registry& all = registry();
  std::lock_guard guard(all.mutex);
  for (auto& [id, other] : all.pools)
    if (other != &pool) visit(*other, pool);
}

}  // namespace plat::pool
