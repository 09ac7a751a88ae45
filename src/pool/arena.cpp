// SPDX-License-Identifier: Apache-2.0
// Arenas: blocks that are freed in one call. A bump pointer over chunks of the pool; an arena inside another
// has chunks of its own and ends with it. Tools hear of the blocks, not of the chunks they are cut from.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.h"
#include "pool/guarded.h"
#include "pool/router.h"
#include "pool/tool_batch.h"

using namespace plat;
using plat::pool::guarded;
using plat::pool::report;

struct plat_arena {
  plat_pool* pool;
  plat::pool::Pool* bottom;  // under the pool's decorators
  plat_arena* parent;
  uint64_t chunk_bytes;
  uint64_t resets;  // of the pool, when the chunks were taken
  struct Chunk {
    char* base;
    uint64_t bytes;
  };
  std::vector<Chunk> chunks;
  size_t current = 0;
  uint64_t used = 0;  // of the current chunk
  std::vector<std::unique_ptr<plat_arena>> children;
  std::vector<const void*> told;  // blocks that a tool knows
  ~plat_arena();

  plat_pool_status take(uint64_t bytes, uint64_t alignment, void** address);
  bool fit(uint64_t need, uint64_t alignment, void** address);
  void gather(std::vector<const void*>& out);
  void forget();
  void notice_reset();
};

namespace {

// Blocks inside a chunk keep the strictest rule: start at 128 bytes, and a tail of their own of 32 bytes or
// of what the pool gives to its blocks.
constexpr uint64_t kArenaAlignment = 128;
constexpr uint64_t kLeastTail = 32;

}  // namespace

plat_arena::~plat_arena() {
  notice_reset();
  const plat::pool::ToolSilence silence;
  for (const Chunk& chunk : chunks) pool->release(chunk.base, nullptr);
}

// A reset of the pool has freed the chunks: they may be others' by now. Tools have heard of it.
void plat_arena::notice_reset() {
  const uint64_t now = pool->resets();
  if (now == resets) return;
  resets = now;
  chunks.clear();
  told.clear();
  current = 0;
  used = 0;
}

bool plat_arena::fit(uint64_t need, uint64_t alignment, void** address) {
  for (; current < chunks.size(); ++current, used = 0) {
    const Chunk& chunk = chunks[current];
    const auto start = reinterpret_cast<uint64_t>(chunk.base);
    const uint64_t at = align_up(start + used, alignment) - start;
    if (at + need > chunk.bytes) continue;
    used = at + need;
    *address = chunk.base + at;
    return true;
  }
  return false;
}

plat_pool_status plat_arena::take(uint64_t bytes, uint64_t alignment, void** address) {
  notice_reset();
  if (bottom->is_asleep())
    return report(PLAT_POOL_ASLEEP, "plat_arena_alloc: the memory of the pool sleeps; wake it first");
  const uint64_t tail = bottom->source().tail_bytes();
  const uint64_t need = align_up(bytes, 32) + std::max(tail, kLeastTail);
  if (!fit(need, alignment, address)) {
    plat_pool::Request request;
    request.bytes = std::max(chunk_bytes, need + alignment);
    void* base = nullptr;
    chunks.reserve(chunks.size() + 1);  // before the block is taken, or it could be lost
    {
      const plat::pool::ToolSilence silence;
      const plat_pool_status status = pool->allocate(request, &base);
      if (status != PLAT_POOL_OK) return status;
    }
    chunks.push_back({static_cast<char*>(base), request.bytes});
    current = chunks.size() - 1;
    used = 0;
    fit(need, alignment, address);
  }
  if (bottom->reporting().listening()) {
    told.push_back(*address);
    bottom->reporting().piece_added(*address, bytes, "arena");
  }
  return PLAT_POOL_OK;
}

void plat_arena::gather(std::vector<const void*>& out) {
  notice_reset();
  out.insert(out.end(), told.begin(), told.end());
  told.clear();
  for (auto& child : children) child->gather(out);
}

// Tools hear of everything in it, and in those inside it, in one call.
void plat_arena::forget() {
  std::vector<const void*> gone;
  gather(gone);
  bottom->reporting().tool().pieces_removed(gone);
  children.clear();
  current = 0;
  used = 0;
}

extern "C" {

plat_pool_status plat_arena_create(plat_pool* pool, uint64_t chunk_bytes, plat_arena** arena) {
  if (pool == nullptr || arena == nullptr)
    return report(PLAT_POOL_INVALID, "plat_arena_create: an argument is NULL");
  return guarded(*pool, [&] {
    auto* bottom = &static_cast<plat::pool::Router*>(pool->base())->main();
    const uint64_t bytes = chunk_bytes != 0 ? chunk_bytes : 4_MiB;
    *arena = new plat_arena{pool, bottom, nullptr, bytes, pool->resets(), {}, 0, 0, {}, {}};
    return PLAT_POOL_OK;
  });
}

plat_pool_status plat_arena_nest(plat_arena* parent, uint64_t chunk_bytes, plat_arena** arena) {
  if (parent == nullptr || arena == nullptr)
    return report(PLAT_POOL_INVALID, "plat_arena_nest: an argument is NULL");
  return guarded(*parent->pool, [&] {
    const uint64_t bytes = chunk_bytes != 0 ? chunk_bytes : parent->chunk_bytes;
    std::unique_ptr<plat_arena> child(new plat_arena{
        parent->pool, parent->bottom, parent, bytes, parent->pool->resets(), {}, 0, 0, {}, {}});
    parent->children.push_back(std::move(child));
    *arena = parent->children.back().get();
    return PLAT_POOL_OK;
  });
}

plat_pool_status plat_arena_alloc(plat_arena* arena, uint64_t bytes, uint64_t alignment, void** address) {
  if (arena == nullptr || address == nullptr)
    return report(PLAT_POOL_INVALID, "plat_arena_alloc: an argument is NULL");
  if (bytes == 0 || bytes > plat::pool::kLargestRequest || (alignment & (alignment - 1)) != 0)
    return report(
        PLAT_POOL_INVALID,
        fmt::format("plat_arena_alloc: {} bytes at a multiple of {} cannot be had; blocks have 1 byte to "
                    "1 TiB, and alignments are powers of two",
                    bytes, alignment));
  return guarded(*arena->pool,
                 [&] { return arena->take(bytes, std::max(alignment, kArenaAlignment), address); });
}

plat_pool_status plat_arena_reset(plat_arena* arena) {
  if (arena == nullptr) return report(PLAT_POOL_INVALID, "plat_arena_reset: the arena is NULL");
  return guarded(*arena->pool, [&] { return arena->forget(), PLAT_POOL_OK; });
}

plat_pool_status plat_arena_destroy(plat_arena* arena) {
  if (arena == nullptr) return PLAT_POOL_OK;
  return guarded(*arena->pool, [&] {
    arena->forget();
    if (arena->parent == nullptr)
      delete arena;
    else
      std::erase_if(arena->parent->children, [&](const auto& child) { return child.get() == arena; });
    return PLAT_POOL_OK;
  });
}

}  // extern "C"
