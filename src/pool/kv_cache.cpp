// SPDX-License-Identifier: Apache-2.0
// The KV cache helper: addresses for the longest sequence are reserved once, pages follow the number of
// tokens.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "pool/guarded.h"
#include "pool/router.h"

using plat::pool::guarded;
using plat::pool::kPageBytes;
using plat::pool::Outcome;
using plat::pool::report;

struct plat_kv_cache {
  plat::pool::Pool* pool;
  char* base;
  uint64_t token_bytes;
  uint64_t max_tokens;
  std::vector<void*> pages;  // mapped from the base on
  void* tool_heap = nullptr;
  uint64_t told_bytes = 0;  // of the region that a tool knows
};

namespace {

// Exactly `need` pages from the base on, or as before. Room for every record is made first, so that nothing
// can fail between a page and its record.
plat_pool_status set_pages(plat_kv_cache& cache, size_t need) {
  auto& source = cache.pool->source();
  std::vector<void*> moving;
  moving.reserve(std::max(need, cache.pages.size()));
  cache.pages.reserve(need);
  while (cache.pages.size() > need) {
    if (source.unmap_page(cache.base + (cache.pages.size() - 1) * kPageBytes) != Outcome::kDone) break;
    moving.push_back(cache.pages.back());
    cache.pages.pop_back();
  }
  if (cache.pages.size() < need) {
    if (const auto status = cache.pool->take_pages(need - cache.pages.size(), moving); status != PLAT_POOL_OK)
      return status;
    const size_t before = cache.pages.size();
    while (cache.pages.size() < need &&
           source.map_page(cache.base + cache.pages.size() * kPageBytes, moving.back()) == Outcome::kDone) {
      cache.pages.push_back(moving.back());
      moving.pop_back();
    }
    if (cache.pages.size() < need) {
      const std::string why = source.error();
      // A page that the device does not let go of stays, and is counted.
      while (cache.pages.size() > before &&
             source.unmap_page(cache.base + (cache.pages.size() - 1) * kPageBytes) == Outcome::kDone) {
        moving.push_back(cache.pages.back());
        cache.pages.pop_back();
      }
      cache.pool->give_pages(moving);
      return report(PLAT_POOL_DEVICE, fmt::format("plat_kv_set_tokens: {}", why));
    }
  }
  cache.pool->give_pages(moving);
  return cache.pages.size() == need
             ? PLAT_POOL_OK
             : report(PLAT_POOL_DEVICE, fmt::format("plat_kv_set_tokens: {}", source.error()));
}

// One region holds the tokens there are.
void tell(plat_kv_cache& cache, uint64_t bytes) {
  if (cache.tool_heap == nullptr || bytes == cache.told_bytes) return;
  auto& tool = cache.pool->reporting().tool();
  const int32_t device = cache.pool->source().device();
  if (bytes == 0) {
    tool.regions_removed({cache.base});
  } else if (cache.told_bytes != 0) {
    tool.region_resized(cache.tool_heap, {cache.base, bytes}, device);
  } else {
    tool.regions_added(cache.tool_heap, {{cache.base, bytes}}, device);
    tool.regions_named({cache.base}, "tokens");
  }
  cache.told_bytes = bytes;
}

}  // namespace

extern "C" {

plat_pool_status plat_kv_create(plat_pool* pool, uint64_t token_bytes, uint64_t max_tokens,
                                plat_kv_cache** cache) {
  if (pool == nullptr || cache == nullptr)
    return report(PLAT_POOL_INVALID, "plat_kv_create: an argument is NULL");
  if (token_bytes == 0 || max_tokens == 0 || max_tokens > UINT64_MAX / 4 / token_bytes)
    return report(
        PLAT_POOL_INVALID,
        fmt::format("plat_kv_create: {} tokens of {} bytes cannot be; neither may be 0, and no address "
                    "space is larger than 2^62 bytes",
                    max_tokens, token_bytes));
  if (!pool->made.is_here()) return guarded(*pool, [] { return PLAT_POOL_OK; });
  auto* base = &static_cast<plat::pool::Router*>(pool->base())->main();
  if (!base->source().has_pages())
    return report(PLAT_POOL_UNSUPPORTED,
                  "plat_kv_create: only a pool over mapped pages can back a cache on demand");
  void* address = nullptr;
  const uint64_t bytes = plat::align_up(token_bytes * max_tokens + base->source().tail_bytes(), kPageBytes);
  if (base->source().reserve(bytes, &address) != Outcome::kDone)
    return report(PLAT_POOL_NO_MEMORY, fmt::format("plat_kv_create: no {} bytes of address space: {}", bytes,
                                                   base->source().error()));
  const plat_pool_status status = guarded([&] {
    std::unique_ptr<plat_kv_cache> made(
        new plat_kv_cache{base, static_cast<char*>(address), token_bytes, max_tokens, {}});
    made->tool_heap =
        base->reporting().tool().heap_added(address, bytes, base->source().device(), "KV cache");
    *cache = made.release();
    return PLAT_POOL_OK;
  });
  if (status != PLAT_POOL_OK) base->source().unreserve(address);
  return status;
}

plat_pool_status plat_kv_set_tokens(plat_kv_cache* cache, uint64_t tokens) {
  if (cache == nullptr) return report(PLAT_POOL_INVALID, "plat_kv_set_tokens: the cache is NULL");
  if (tokens > cache->max_tokens)
    return report(
        PLAT_POOL_INVALID,
        fmt::format("plat_kv_set_tokens: {} tokens do not fit: the cache was made for at most {} of {} "
                    "bytes each",
                    tokens, cache->max_tokens, cache->token_bytes));
  const uint64_t tail = cache->pool->source().tail_bytes();
  const uint64_t bytes = tokens == 0 ? 0 : tokens * cache->token_bytes + tail;
  return guarded(*cache->pool->family().handle, [&] {
    // A tool that watches hears of a shrink before the pages go, and of a growth once they are there.
    const uint64_t payload = tokens * cache->token_bytes;
    if (payload < cache->told_bytes) tell(*cache, payload);
    const plat_pool_status status = set_pages(*cache, (bytes + kPageBytes - 1) / kPageBytes);
    if (status == PLAT_POOL_OK) tell(*cache, payload);
    return status;
  });
}

void* plat_kv_base(const plat_kv_cache* cache) { return cache != nullptr ? cache->base : nullptr; }

uint64_t plat_kv_backed_bytes(const plat_kv_cache* cache) {
  return cache != nullptr ? cache->pages.size() * kPageBytes : 0;
}

plat_pool_status plat_kv_destroy(plat_kv_cache* cache) {
  if (cache == nullptr) return PLAT_POOL_OK;
  const plat_pool_status status = plat_kv_set_tokens(cache, 0);
  if (status != PLAT_POOL_OK) return status;
  cache->pool->reporting().tool().heap_removed(std::exchange(cache->tool_heap, nullptr));
  if (!cache->pool->source().unreserve(cache->base))
    return report(PLAT_POOL_DEVICE, fmt::format("plat_kv_destroy: the addresses cannot be given back: {}",
                                                cache->pool->source().error()));
  delete cache;
  return PLAT_POOL_OK;
}

}  // extern "C"
