// Arenas: blocks that are freed in one call. A bump pointer over chunks of the pool; nested arenas are arenas
// over the same pool.
#include <algorithm>
#include <vector>

#include "base/units.h"
#include "pool/guarded.h"

using plat::align_up;
using plat::pool::report;

struct plat_arena {
  plat_pool* pool;
  uint64_t chunk_bytes;
  struct Chunk {
    char* base;
    uint64_t bytes;
  };
  std::vector<Chunk> chunks;
  size_t current = 0;
  uint64_t used = 0;  // of the current chunk
};

namespace {
// Blocks inside a chunk keep the strictest rule: start at 128 bytes, 32 bytes of tail of their own.
constexpr uint64_t kArenaAlignment = 128;
constexpr uint64_t kArenaTail = 32;
}  // namespace

extern "C" {

plat_pool_status plat_arena_create(plat_pool* pool, uint64_t chunk_bytes, plat_arena** arena) {
  if (pool == nullptr || arena == nullptr)
    return report(PLAT_POOL_INVALID, "plat_arena_create: an argument is NULL");
  return plat::pool::guarded([&] {
    return *arena = new plat_arena{pool, chunk_bytes != 0 ? chunk_bytes : plat::operator""_MiB(4), {}, 0, 0},
           PLAT_POOL_OK;
  });
}

plat_pool_status plat_arena_alloc(plat_arena* arena, uint64_t bytes, uint64_t alignment, void** address) {
  if (arena == nullptr || address == nullptr || bytes == 0 || bytes > (uint64_t{1} << 40) ||
      (alignment & (alignment - 1)) != 0)
    return report(PLAT_POOL_INVALID,
                  "plat_arena_alloc: an argument is NULL, the size 0 or the alignment no power of two");
  alignment = std::max(alignment, kArenaAlignment);
  const uint64_t need = align_up(bytes, 32) + kArenaTail;
  for (; arena->current < arena->chunks.size(); ++arena->current, arena->used = 0) {
    const auto& chunk = arena->chunks[arena->current];
    const auto start = reinterpret_cast<uint64_t>(chunk.base);
    const uint64_t at = align_up(start + arena->used, alignment) - start;
    if (at + need > chunk.bytes) continue;
    arena->used = at + need;
    *address = chunk.base + at;
    return PLAT_POOL_OK;
  }
  plat_pool::Request request;
  request.bytes = std::max(arena->chunk_bytes, need + alignment);
  void* base = nullptr;
  const plat_pool_status status = plat::pool::guarded([&] {
    arena->chunks.reserve(arena->chunks.size() + 1);  // before the block is taken, or it could be lost
    return arena->pool->allocate(request, &base);
  });
  if (status != PLAT_POOL_OK) return status;
  arena->chunks.push_back({static_cast<char*>(base), request.bytes});
  arena->current = arena->chunks.size() - 1;
  arena->used = 0;
  return plat_arena_alloc(arena, bytes, alignment, address);
}

plat_pool_status plat_arena_reset(plat_arena* arena) {
  if (arena == nullptr) return report(PLAT_POOL_INVALID, "plat_arena_reset: the arena is NULL");
  arena->current = 0;
  arena->used = 0;
  return PLAT_POOL_OK;
}

plat_pool_status plat_arena_destroy(plat_arena* arena) {
  if (arena == nullptr) return PLAT_POOL_OK;
  for (const auto& chunk : arena->chunks) arena->pool->release(chunk.base, nullptr);
  delete arena;
  return PLAT_POOL_OK;
}

}  // extern "C"
