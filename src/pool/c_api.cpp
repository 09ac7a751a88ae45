// SPDX-License-Identifier: Apache-2.0
// The C entry points of a pool: check the arguments, try the short way, call the resource. No exception
// leaves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "base/units.h"
#include "pool/frameworks.h"
#include "pool/guarded.h"
#include "pool/router.h"
#include "pool/snapshot.h"
#include "pool/tool_batch.h"

namespace plat::pool {

namespace {

plat_pool_status null_argument(const char* call) {
  return report(PLAT_POOL_INVALID, std::string(call) + ": an argument is NULL");
}

// What is not in the thread's cache; never inlined, so that what is needs no stack.
[[gnu::noinline]] plat_pool_status allocate_otherwise(plat_pool* pool, uint64_t bytes, plat_stream stream,
                                                      void** address) {
  return guarded_at_once(*pool, [&] {
    Pool* const open = pool->fast.large.load(std::memory_order_relaxed);
    if (open != nullptr && open->allocate_small_at_once(bytes, stream, address)) return PLAT_POOL_OK;
    const tsan::Unwatched unwatched;
    return pool->allocate_otherwise(Request{bytes, 0, stream}, address);
  });
}
[[gnu::noinline]] plat_pool_status allocate_large(plat_pool* pool, uint64_t bytes, plat_stream stream,
                                                  void** address) {
  return guarded_at_once(*pool, [&] {
    Pool* const open = pool->fast.large.load(std::memory_order_relaxed);
    if (open != nullptr && open->allocate_at_once(bytes, stream, address)) [[likely]]
      return PLAT_POOL_OK;
    const tsan::Unwatched unwatched;
    return pool->allocate_otherwise(Request{bytes, 0, stream}, address);
  });
}
[[gnu::noinline]] plat_pool_status release_otherwise(plat_pool* pool, void* address, plat_stream stream) {
  return guarded_at_once(*pool, [&] {
    Pool* const large = pool->fast.large.load(std::memory_order_relaxed);
    if (large != nullptr && large->release_at_once(address, stream)) return PLAT_POOL_OK;
    const tsan::Unwatched unwatched;
    return pool->release_otherwise(address, stream);
  });
}

inline plat_pool_status allocate_on(plat_pool* pool, uint64_t bytes, plat_stream stream, void** address) {
  if (pool->fast.is_large(bytes)) return allocate_large(pool, bytes, stream, address);
  void* const block = pool->fast.pop(bytes, stream);
  if (block == nullptr) [[unlikely]]
    return allocate_otherwise(pool, bytes, stream, address);
  *address = block;
  return PLAT_POOL_OK;
}
inline plat_pool_status release_on(plat_pool* pool, void* address, plat_stream stream) {
  if (pool->fast.push(address, stream)) [[likely]]
    return PLAT_POOL_OK;
  return release_otherwise(pool, address, stream);
}

plat_pool_status bad_request(const char* call) {
  return report(PLAT_POOL_INVALID,
                std::string(call) + ": there is no such purpose, or the tag is 0xFFFF, which means all tags");
}

bool is_good(const Request& request) {
  return request.purpose >= PLAT_POOL_COMPUTE && request.purpose <= PLAT_POOL_CACHED &&
         request.tag != PLAT_POOL_ALL_TAGS;
}

// What is wrong with a value that no pool can follow; empty when all are good.
std::string wrong_option(const plat_pool_options& options) {
  if (options.device < -1)
    return fmt::format("device is {}; -1 is the current one, others count from 0", options.device);
  if (options.tail_bytes < -1)
    return fmt::format("tail_bytes is {}; -1 is what the product's rule says", options.tail_bytes);
  if (std::isnan(options.slack)) return "slack is NaN; a negative one is none";
  if (options.whole_pages > 1) return fmt::format("whole_pages is {}; it is 0 or 1", options.whole_pages);
  if (options.whole_pages == 1 && options.source == PLAT_POOL_SOURCE_CALLER &&
      reinterpret_cast<uintptr_t>(options.caller_base) % 2_MiB != 0)
    return fmt::format("whole_pages: the caller's range starts at {}, which is no multiple of 2 MiB",
                       options.caller_base);
  return {};
}

// A struct of the caller's, which may be older and shorter. False when its size makes no sense.
template <class Struct>
bool fits(const Struct& theirs) {
  return theirs.struct_size > sizeof(theirs.struct_size) && theirs.struct_size <= sizeof(Struct);
}

}  // namespace

plat_pool_status settle_options(const char* call, const plat_pool_options* options,
                                plat_pool_options* chosen) {
  plat_pool_options_init(chosen);
  if (options != nullptr) {
    if (!fits(*options))
      return report(
          PLAT_POOL_INVALID,
          fmt::format("{}: struct_size is not that of plat_pool_options; use plat_pool_options_init", call));
    std::memcpy(chosen, options, options->struct_size);
  }
  if (chosen->release > PLAT_POOL_RELEASE_IDLE || chosen->source > PLAT_POOL_SOURCE_DEVICE)
    return report(PLAT_POOL_INVALID,
                  fmt::format("{}: there is no such source or release policy: {} and {}", call,
                              static_cast<int>(chosen->source), static_cast<int>(chosen->release)));
  if (std::string why = wrong_option(*chosen); !why.empty())
    return report(PLAT_POOL_INVALID, fmt::format("{}: {}", call, why));
  // Beyond a century no clock can tell.
  chosen->release_idle_ms = std::min<uint64_t>(chosen->release_idle_ms, uint64_t{1} << 41);
  return PLAT_POOL_OK;
}

}  // namespace plat::pool

using namespace plat::pool;

plat_pool_status plat_pool::allocate(const Request& request, void** address) {
  if ((request.alignment | request.tag) == 0 && request.purpose == PLAT_POOL_COMPUTE) {
    *address = fast.pop(request.bytes, request.stream);
    if (*address != nullptr) return PLAT_POOL_OK;
    Pool* const open = fast.large.load(std::memory_order_relaxed);
    if (open != nullptr &&
        (fast.is_large(request.bytes) ? open->allocate_at_once(request.bytes, request.stream, address)
                                      : open->allocate_small_at_once(request.bytes, request.stream, address)))
      return PLAT_POOL_OK;
  }
  return allocate_otherwise(request, address);
}

plat_pool_status plat_pool::release(void* address, plat_stream stream) {
  if (fast.push(address, stream)) return PLAT_POOL_OK;
  Pool* const large = fast.large.load(std::memory_order_relaxed);
  if (large != nullptr && large->release_at_once(address, stream)) return PLAT_POOL_OK;
  return release_otherwise(address, stream);
}

extern "C" {

void plat_pool_options_init(plat_pool_options* options) {
  if (options == nullptr) return;
  *options = plat_pool_options{};
  options->struct_size = sizeof(plat_pool_options);
  options->device = -1;
  options->source = PLAT_POOL_SOURCE_DEVICE;
  options->tail_bytes = -1;
  options->slack = -1;
  options->thread_cache = 1;
}

plat_pool_status plat_pool_create(const plat_pool_options* options, plat_pool** pool) {
  if (pool == nullptr) return null_argument("plat_pool_create");
  *pool = nullptr;
  plat_pool_options chosen;
  if (const auto status = settle_options("plat_pool_create", options, &chosen); status != PLAT_POOL_OK)
    return status;
  if (chosen.source == PLAT_POOL_SOURCE_CALLER &&
      (chosen.caller_base == nullptr || chosen.caller_bytes < 65536 ||
       reinterpret_cast<uintptr_t>(chosen.caller_base) % 512 != 0))
    return report(
        PLAT_POOL_INVALID,
        "plat_pool_create: the caller's range needs a start at a multiple of 512 and 64 KiB at least");
  return guarded([&] {
    std::string why;
    auto source = Source::create(chosen, &why);
    if (source == nullptr) return report(PLAT_POOL_INVALID, "plat_pool_create: " + why);
    return Router::create(chosen, std::move(source), pool);
  });
}

plat_pool_status plat_pool_destroy(plat_pool* pool) {
  if (pool == nullptr) return PLAT_POOL_OK;
  return guarded(*pool, [&] {
    leave_streams(pool);
    const plat_pool_status status = guarded([&] { return pool->close(); });
    delete pool;
    return status;
  });
}

plat_pool_status plat_pool_alloc(plat_pool* pool, uint64_t bytes, void** address) {
  if (pool == nullptr || address == nullptr) return null_argument("plat_pool_alloc");
  return allocate_on(pool, bytes, nullptr, address);
}

plat_pool_status plat_pool_alloc_aligned(plat_pool* pool, uint64_t bytes, uint64_t alignment,
                                         void** address) {
  if (pool == nullptr || address == nullptr) return null_argument("plat_pool_alloc_aligned");
  return guarded(*pool, [&] { return pool->allocate(Request{bytes, alignment}, address); });
}

plat_pool_status plat_pool_alloc_for(plat_pool* pool, uint64_t bytes, plat_pool_purpose purpose,
                                     void** address) {
  if (pool == nullptr || address == nullptr) return null_argument("plat_pool_alloc_for");
  const Request request{bytes, 0, nullptr, purpose};
  if (!is_good(request)) return bad_request("plat_pool_alloc_for");
  return guarded(*pool, [&] { return pool->allocate(request, address); });
}

plat_pool_status plat_pool_alloc_tagged(plat_pool* pool, uint64_t bytes, uint16_t tag, void** address) {
  if (pool == nullptr || address == nullptr) return null_argument("plat_pool_alloc_tagged");
  const Request request{bytes, 0, nullptr, PLAT_POOL_COMPUTE, tag};
  if (!is_good(request)) return bad_request("plat_pool_alloc_tagged");
  return guarded(*pool, [&] { return pool->allocate(request, address); });
}

plat_pool_status plat_pool_alloc_request(plat_pool* pool, const plat_pool_request* asked, void** address) {
  if (pool == nullptr || asked == nullptr || address == nullptr)
    return null_argument("plat_pool_alloc_request");
  if (!fits(*asked))
    return report(PLAT_POOL_INVALID,
                  "plat_pool_alloc_request: struct_size is not that of plat_pool_request; begin with "
                  "PLAT_POOL_REQUEST_INIT");
  plat_pool_request whole{};
  std::memcpy(&whole, asked, asked->struct_size);
  const Request request{whole.bytes, whole.alignment, whole.stream, whole.purpose, whole.tag};
  if (!is_good(request)) return bad_request("plat_pool_alloc_request");
  return guarded(*pool, [&] { return pool->allocate(request, address); });
}

plat_pool_status plat_pool_alloc_on(plat_pool* pool, uint64_t bytes, plat_stream stream, void** address) {
  if (pool == nullptr || address == nullptr) return null_argument("plat_pool_alloc_on");
  return allocate_on(pool, bytes, stream, address);
}

plat_pool_status plat_pool_free(plat_pool* pool, void* address) {
  if (pool == nullptr) return null_argument("plat_pool_free");
  return release_on(pool, address, nullptr);
}

plat_pool_status plat_pool_free_on(plat_pool* pool, void* address, plat_stream stream) {
  if (pool == nullptr) return null_argument("plat_pool_free_on");
  return release_on(pool, address, stream);
}

plat_pool_status plat_pool_alloc_batch(plat_pool* pool, const uint64_t* bytes, size_t count,
                                       plat_stream stream, void** addresses) {
  if (pool == nullptr || (count != 0 && (bytes == nullptr || addresses == nullptr)))
    return null_argument("plat_pool_alloc_batch");
  return guarded(*pool, [&] {
    ToolBatch batch;
    plat_pool_status status = PLAT_POOL_OK;
    size_t done = 0;
    for (; done < count && status == PLAT_POOL_OK; ++done)
      status = pool->allocate(Request{bytes[done], 0, stream}, &addresses[done]);
    if (status == PLAT_POOL_OK) return batch.finish();
    const std::string why = last_error();
    for (addresses[--done] = nullptr; done > 0; addresses[done] = nullptr)
      pool->release(addresses[--done], stream);
    batch.finish();
    return report(status, why);
  });
}

plat_pool_status plat_pool_free_batch(plat_pool* pool, void* const* addresses, size_t count,
                                      plat_stream stream) {
  if (pool == nullptr || (count != 0 && addresses == nullptr)) return null_argument("plat_pool_free_batch");
  return guarded(*pool, [&] {
    plat_pool_status first = PLAT_POOL_OK;
    std::string why;
    auto note = [&](plat_pool_status status) {
      if (status == PLAT_POOL_OK || first != PLAT_POOL_OK) return;
      first = status;
      why = last_error();
    };
    ToolBatch batch;
    for (size_t i = 0; i < count; ++i) note(pool->release(addresses[i], stream));
    note(batch.finish());
    return first == PLAT_POOL_OK ? first : report(first, why);
  });
}

#define PLAT_POOL_PASS(name, parameters, check, expression)  \
  plat_pool_status name parameters {                         \
    if (!(check)) return null_argument(#name);               \
    return guarded(*pool, [&] { return pool->expression; }); \
  }

PLAT_POOL_PASS(plat_pool_use_on, (plat_pool * pool, void* address, plat_stream stream), pool&& address,
               use_on(address, stream))
PLAT_POOL_PASS(plat_pool_forget_stream, (plat_pool * pool, plat_stream stream), pool, forget_stream(stream))
PLAT_POOL_PASS(plat_pool_usable,
               (plat_pool * pool, const void* address, uint64_t* bytes, uint64_t* with_tail), pool&& address,
               usable(address, bytes, with_tail))
PLAT_POOL_PASS(plat_pool_name_block, (plat_pool * pool, void* address, const char* name),
               pool&& address&& name, name_block(address, name))
PLAT_POOL_PASS(plat_pool_tag_bytes, (plat_pool * pool, uint16_t tag, uint64_t* used, uint64_t* reserved),
               pool&& used&& reserved, tag_bytes(tag, used, reserved))
PLAT_POOL_PASS(plat_pool_reset_peaks, (plat_pool * pool), pool, reset_peaks())
PLAT_POOL_PASS(plat_pool_set_limits, (plat_pool * pool, uint64_t limit_bytes, uint64_t host_limit_bytes),
               pool, set_limits(limit_bytes, host_limit_bytes))
PLAT_POOL_PASS(plat_pool_trim, (plat_pool * pool, uint64_t keep_bytes), pool, trim(keep_bytes))
PLAT_POOL_PASS(plat_pool_reset, (plat_pool * pool), pool, reset())
PLAT_POOL_PASS(plat_pool_set_oom_callback, (plat_pool * pool, plat_pool_oom_callback callback, void* user),
               pool, set_oom_callback(callback, user))
PLAT_POOL_PASS(plat_pool_flush_thread, (plat_pool * pool), pool, flush_thread())
PLAT_POOL_PASS(plat_pool_sleep, (plat_pool * pool, uint16_t tag, int save), pool, sleep(tag, save != 0))
PLAT_POOL_PASS(plat_pool_wake, (plat_pool * pool, uint16_t tag), pool, wake(tag))

plat_pool_status plat_pool_resize(plat_pool* pool, void* address, uint64_t bytes) {
  if (pool == nullptr || address == nullptr) return null_argument("plat_pool_resize");
  if (bytes > kLargestRequest)
    return report(PLAT_POOL_INVALID, fmt::format("plat_pool_resize: no block can have {} bytes", bytes));
  return guarded(*pool, [&] { return pool->resize(address, bytes); });
}

plat_pool_status plat_pool_get_stats(plat_pool* pool, plat_pool_stats* out) {
  if (pool == nullptr || out == nullptr) return null_argument("plat_pool_get_stats");
  if (!fits(*out))
    return report(
        PLAT_POOL_INVALID,
        "plat_pool_get_stats: struct_size is not that of plat_pool_stats; begin with PLAT_POOL_STATS_INIT");
  plat_pool_stats all;
  const plat_pool_status status = guarded(*pool, [&] { return pool->stats(&all); });
  all.struct_size = out->struct_size;
  if (status == PLAT_POOL_OK) std::memcpy(out, &all, out->struct_size);
  return status;
}

plat_pool_status plat_pool_owner(plat_pool* pool, const void* address, plat_pool_block* out) {
  if (pool == nullptr || address == nullptr || out == nullptr) return null_argument("plat_pool_owner");
  if (!fits(*out))
    return report(
        PLAT_POOL_INVALID,
        "plat_pool_owner: struct_size is not that of plat_pool_block; begin with PLAT_POOL_BLOCK_INIT");
  plat_pool_block block;
  const plat_pool_status status = guarded(*pool, [&] { return pool->owner(address, &block); });
  block.struct_size = out->struct_size;
  if (status == PLAT_POOL_OK) std::memcpy(out, &block, out->struct_size);
  return status;
}

plat_pool_status plat_pool_walk(plat_pool* pool, plat_pool_visitor visit, void* user) {
  if (pool == nullptr || visit == nullptr) return null_argument("plat_pool_walk");
  return guarded(*pool, [&] {
    std::vector<plat_pool_block> blocks;
    if (const auto status = pool->list(blocks); status != PLAT_POOL_OK) return status;
    std::sort(blocks.begin(), blocks.end(), [](const plat_pool_block& a, const plat_pool_block& b) {
      return std::less<>()(a.address, b.address);
    });
    for (const plat_pool_block& block : blocks)
      if (plat::tsan::watched(visit, user, &block) == 0) break;
    return PLAT_POOL_OK;
  });
}

plat_pool_status plat_pool_snapshot(plat_pool* pool, const char* path) {
  if (pool == nullptr || path == nullptr) return null_argument("plat_pool_snapshot");
  return guarded(*pool, [&] {
    std::vector<HeldRange> ranges;
    if (const auto status = pool->held(ranges); status != PLAT_POOL_OK) return status;
    return write_snapshot(ranges, path);
  });
}

const char* plat_pool_last_error(void) { return last_error(); }

const char* plat_pool_status_name(plat_pool_status status) {
  switch (status) {
    case PLAT_POOL_OK:
      return "ok";
    case PLAT_POOL_INVALID:
      return "invalid argument";
    case PLAT_POOL_NO_MEMORY:
      return "out of memory";
    case PLAT_POOL_NOT_OWNED:
      return "no live block of this pool";
    case PLAT_POOL_QUOTA:
      return "refused by a quota";
    case PLAT_POOL_DEVICE:
      return "device error";
    case PLAT_POOL_ASLEEP:
      return "asleep";
    case PLAT_POOL_CORRUPT:
      return "corrupted";
    case PLAT_POOL_BUSY:
      return "busy";
    case PLAT_POOL_UNSUPPORTED:
      return "unsupported";
  }
  return "unknown";
}

}  // extern "C"
