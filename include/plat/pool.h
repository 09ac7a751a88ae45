// SPDX-License-Identifier: Apache-2.0
/* The pool: memory of a device, taken in large pieces and handed out in small ones that keep every rule of
 * the call which owns it.
 *
 * Every function is safe to call from any thread unless it says otherwise. Functions return a
 * plat_pool_status; the sentence that explains the last failure of the calling thread is
 * plat_pool_last_error().
 *
 * A forked child has no device memory: every call on a pool, an arena or a KV cache of its parent's is
 * PLAT_POOL_INVALID there and changes nothing. Pools that it makes itself, after aclInit, are its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PLAT_POOL_API __attribute__((visibility("default")))
#else
#define PLAT_POOL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plat_pool plat_pool;
typedef struct plat_arena plat_arena;
typedef struct plat_kv_cache plat_kv_cache;
/* An aclrtStream; NULL means "no stream: the memory is idle". The pool asks streams on its own device,
 * whichever the calling thread has. A host function that runs on a stream must not call the pool: the pool
 * may be waiting for that stream. */
typedef void* plat_stream;
/* The device's default stream, whose name in ACL is NULL. */
#define PLAT_POOL_DEFAULT_STREAM ((plat_stream)(uintptr_t)-1)

typedef enum plat_pool_status {
  PLAT_POOL_OK = 0,
  PLAT_POOL_INVALID = 1,   /* an argument breaks the contract of the call, or the pool is another process's */
  PLAT_POOL_NO_MEMORY = 2, /* the device, or the limit of the pool, is exhausted after everything was tried */
  PLAT_POOL_NOT_OWNED = 3, /* the address is no live block of this pool */
  PLAT_POOL_QUOTA = 4,     /* a quota or an injected fault refused the call; the device was not asked */
  PLAT_POOL_DEVICE = 5,    /* a device call failed for another reason than memory */
  PLAT_POOL_ASLEEP = 6,    /* the memory was given back by plat_pool_sleep and must be woken first */
  PLAT_POOL_CORRUPT = 7,   /* a guard found a write outside a block */
  PLAT_POOL_BUSY = 8,      /* blocks are live that the call would destroy */
  PLAT_POOL_UNSUPPORTED = 9 /* this source cannot do it */
} plat_pool_status;

/* Where the memory comes from. The rules for starts and sizes follow from it. */
typedef enum plat_pool_source {
  PLAT_POOL_SOURCE_VMM =
      0, /* one large address range, pages mapped as needed and moved when that avoids growth */
  PLAT_POOL_SOURCE_MALLOC = 1, /* blocks of aclrtMalloc */
  PLAT_POOL_SOURCE_HOST = 2,   /* blocks of aclrtMallocHost */
  PLAT_POOL_SOURCE_MEDIA = 3,  /* blocks of acldvppMalloc */
  PLAT_POOL_SOURCE_CALLER = 4, /* one range that the caller owns and keeps until the pool is destroyed */
  PLAT_POOL_SOURCE_CACHED = 5, /* blocks of aclrtMallocCached */
  PLAT_POOL_SOURCE_DEVICE = 6  /* VMM where the product has virtual memory, else MALLOC: the default */
} plat_pool_source;

/* What a block is for. One pool serves them all: for memory that its source is not, it opens a companion at
 * the first request, which shares its limit, its statistics and its life. Every other call finds the owner of
 * a block by its address. */
typedef enum plat_pool_purpose {
  PLAT_POOL_COMPUTE = 0, /* memory of the pool's source, at a multiple of 64 bytes */
  PLAT_POOL_MEDIA = 1,   /* the same, at a multiple of 128 */
  PLAT_POOL_HOST = 2,    /* pinned memory of the host, by aclrtMallocHost: the host may touch it */
  PLAT_POOL_CACHED = 3   /* device memory by aclrtMallocCached */
} plat_pool_purpose;

/* When pages that hold nothing go back to the device. */
typedef enum plat_pool_release {
  PLAT_POOL_RELEASE_NEVER = 0,     /* only on trim, on out of memory elsewhere, or on destroy */
  PLAT_POOL_RELEASE_WATERMARK = 1, /* above release_watermark bytes of idle memory */
  PLAT_POOL_RELEASE_NOW = 2,       /* as soon as a page is wholly free */
  PLAT_POOL_RELEASE_IDLE = 3       /* what nobody needed for release_idle_ms; noticed at the next free of a
                                      large block, since the pool has no thread of its own */
} plat_pool_release;

/* Structs begin with their own size, so that fields can be added at their end: a caller that was built
 * earlier passes a smaller one and is served as far as it reaches. In C++ the size sets itself; in C begin
 * with PLAT_POOL_STATS_INIT, PLAT_POOL_REQUEST_INIT or PLAT_POOL_BLOCK_INIT. */
#ifdef __cplusplus
#define PLAT_POOL_STRUCT_SIZE(type) size_t struct_size = sizeof(type)
#else
#define PLAT_POOL_STRUCT_SIZE(type) size_t struct_size
#endif

typedef struct plat_pool_options {
  size_t struct_size; /* sizeof(plat_pool_options), set by plat_pool_options_init */
  const char* name;   /* shown to tools and in messages; copied */
  int32_t device;     /* -1: the current device of the calling thread */
  plat_pool_source source;
  uint64_t limit_bytes;   /* most physical memory to hold, cached memory included; 0: as much as the device
                             gives */
  uint64_t initial_bytes; /* mapped at creation */
  uint64_t chunk_bytes;   /* MALLOC, HOST, MEDIA, CACHED: size of one block; 0: what is held, 2 to 64 MiB */
  void* caller_base;      /* CALLER */
  uint64_t caller_bytes;  /* CALLER */
  int32_t tail_bytes; /* bytes after the payload that belong to a block; -1: what the product's rule says */
  plat_pool_release release;
  uint64_t release_watermark;
  double slack; /* above (1 + slack) x peak use, move pages rather than grow; negative: grow up to the limit
                   first */
  uint32_t thread_cache;     /* 0: no per-thread caches */
  uint32_t reuse_waits;      /* 1: may make a stream wait for another one to reuse its memory */
  uint64_t release_idle_ms;  /* PLAT_POOL_RELEASE_IDLE */
  uint64_t max_remaps;       /* most pages to move for one request, which else grows the pool or fails; 0: as
                                many as it takes */
  uint64_t host_limit_bytes; /* most memory of the host to hold for PLAT_POOL_HOST; 0: as much as there is */
  uint32_t whole_pages;      /* 1: every block starts at a page and owns whole pages, tail included (2 MiB; of
                                host memory 4 KiB), as exports by key and registrations want it. For pools of few
                                and large blocks; a range of the caller's must start at a multiple of 2 MiB */
} plat_pool_options;

typedef struct plat_pool_request {
  PLAT_POOL_STRUCT_SIZE(struct plat_pool_request);
  uint64_t bytes;
  uint64_t alignment; /* a power of two up to 2 MiB; 0: what the purpose needs */
  plat_stream stream;
  plat_pool_purpose purpose;
  uint16_t tag;
} plat_pool_request;

typedef struct plat_pool_stats {
  PLAT_POOL_STRUCT_SIZE(struct plat_pool_stats);
  uint64_t reserved_bytes; /* physical memory held, that of the host included */
  uint64_t reserved_peak;
  uint64_t used_bytes; /* in live blocks that do not sleep, rounding and tails included */
  uint64_t used_peak;
  uint64_t cached_bytes; /* in thread caches and in frees that wait for a stream */
  uint64_t idle_bytes;   /* wholly free pages: what a trim would give back */
  uint64_t live_blocks;  /* blocks too large for the thread caches, plus small ones handed out */
  uint64_t maps;         /* pages brought in from the device */
  uint64_t unmaps;
  uint64_t remaps;            /* pages moved instead of growing */
  uint64_t out_of_memory;     /* times the ladder was climbed to its end */
  uint64_t address_bytes;     /* address space reserved */
  uint64_t bookkeeping_bytes; /* host memory of the records */
  uint64_t most_remaps;       /* pages moved for one request, at most */
  uint64_t host_bytes;        /* of reserved_bytes: pinned memory of the host */
  uint64_t asleep_bytes;      /* in live blocks that sleep: nothing is held for them */
} plat_pool_stats;

/* A live block, as the pool knows it. */
typedef struct plat_pool_block {
  PLAT_POOL_STRUCT_SIZE(struct plat_pool_block);
  void* address;
  uint64_t bytes; /* from its start on that are its own, its tail excluded; may be more than was asked for */
  uint64_t with_tail; /* the same with its tail */
  uint16_t tag;
  uint8_t on_host; /* 1: pinned memory of the host */
  uint8_t asleep;  /* 1: nothing is held for it */
} plat_pool_block;

/* For structs of the caller's: `plat_pool_stats stats = PLAT_POOL_STATS_INIT;`. No compiler warns of these.
 */
#ifdef __cplusplus
#define PLAT_POOL_STATS_INIT \
  {}
#define PLAT_POOL_REQUEST_INIT \
  {}
#define PLAT_POOL_BLOCK_INIT \
  {}
#else
#define PLAT_POOL_STATS_INIT \
  { .struct_size = sizeof(plat_pool_stats) }
#define PLAT_POOL_REQUEST_INIT \
  { .struct_size = sizeof(plat_pool_request) }
#define PLAT_POOL_BLOCK_INIT \
  { .struct_size = sizeof(plat_pool_block) }
#endif

/* Asked when everything else failed: free what you can (not from inside a device callback) and return 1 to
 * try once more. */
typedef int (*plat_pool_oom_callback)(void* user, plat_pool* pool, uint64_t bytes, const char* account);

PLAT_POOL_API void plat_pool_options_init(plat_pool_options* options);
/* The pool is NULL when it fails. */
PLAT_POOL_API plat_pool_status plat_pool_create(const plat_pool_options* options, plat_pool** pool);
/* Gives everything back, live blocks included; streams that still use them must have finished. Arenas and KV
 * caches of the pool must be destroyed before. The pool is gone in any case; PLAT_POOL_DEVICE says that the
 * device did not take all of it. */
PLAT_POOL_API plat_pool_status plat_pool_destroy(plat_pool* pool);

/* 0 bytes and more than 1 TiB are PLAT_POOL_INVALID; what does not fit below that is PLAT_POOL_NO_MEMORY. */
PLAT_POOL_API plat_pool_status plat_pool_alloc(plat_pool* pool, uint64_t bytes, void** address);
/* `alignment` is a power of two up to 2 MiB. */
PLAT_POOL_API plat_pool_status plat_pool_alloc_aligned(plat_pool* pool, uint64_t bytes, uint64_t alignment,
                                                       void** address);
PLAT_POOL_API plat_pool_status plat_pool_alloc_for(plat_pool* pool, uint64_t bytes, plat_pool_purpose purpose,
                                                   void** address);
/* Memory of a tag has pages of its own, so that it can be counted and put to sleep alone. Tag 0 is the
 * untagged rest. A range of the caller's is one piece and has no tags: PLAT_POOL_UNSUPPORTED. */
PLAT_POOL_API plat_pool_status plat_pool_alloc_tagged(plat_pool* pool, uint64_t bytes, uint16_t tag,
                                                      void** address);
/* For work queued on `stream` from now on; may reuse what was freed on that stream and is still in use by
 * earlier work. */
PLAT_POOL_API plat_pool_status plat_pool_alloc_on(plat_pool* pool, uint64_t bytes, plat_stream stream,
                                                  void** address);
/* Any of these together. */
PLAT_POOL_API plat_pool_status plat_pool_alloc_request(plat_pool* pool, const plat_pool_request* request,
                                                       void** address);

/* Several blocks at once, all or none; tools hear of them in one call. */
PLAT_POOL_API plat_pool_status plat_pool_alloc_batch(plat_pool* pool, const uint64_t* bytes, size_t count,
                                                     plat_stream stream, void** addresses);

/* Nothing uses the block any more. NULL is ignored. */
PLAT_POOL_API plat_pool_status plat_pool_free(plat_pool* pool, void* address);
/* Work queued on `stream` so far may still use the block. A stream that was destroyed has finished; one that
 * is not there and that the pool has never met is PLAT_POOL_INVALID, and the block stays the caller's. */
PLAT_POOL_API plat_pool_status plat_pool_free_on(plat_pool* pool, void* address, plat_stream stream);
/* The same for several; tools hear of them in one call. All that can be freed are; the first failure is
 * returned. */
PLAT_POOL_API plat_pool_status plat_pool_free_batch(plat_pool* pool, void* const* addresses, size_t count,
                                                    plat_stream stream);
/* Work on `stream`, another one than the block's, uses it too: its free will wait for what is queued there by
 * then. */
PLAT_POOL_API plat_pool_status plat_pool_use_on(plat_pool* pool, void* address, plat_stream stream);
/* Before a stream is destroyed: waits for it and lets go of everything freed on it. */
PLAT_POOL_API plat_pool_status plat_pool_forget_stream(plat_pool* pool, plat_stream stream);

/* Changes the size where the block stands; PLAT_POOL_NO_MEMORY, and nothing changed, when its neighbour is in
 * the way or the pages behind it are not there yet: a resize never makes the pool grow. 0 bytes and more than
 * 1 TiB are PLAT_POOL_INVALID. */
PLAT_POOL_API plat_pool_status plat_pool_resize(plat_pool* pool, void* address, uint64_t bytes);
/* Bytes from the start of a live block that are its own, its tail excluded / included. */
PLAT_POOL_API plat_pool_status plat_pool_usable(plat_pool* pool, const void* address, uint64_t* bytes,
                                                uint64_t* with_tail);

/* What tools call the block, if one listens. Names reach tools through Plat's libms_tools_ext.so alone: link
 * or preload it. */
PLAT_POOL_API plat_pool_status plat_pool_name_block(plat_pool* pool, void* address, const char* name);

PLAT_POOL_API plat_pool_status plat_pool_get_stats(plat_pool* pool, plat_pool_stats* stats);
/* Peaks start anew, at what is held and used now. A pool with `slack` counts from there, too. */
PLAT_POOL_API plat_pool_status plat_pool_reset_peaks(plat_pool* pool);
/* Other values for limit_bytes and host_limit_bytes of the options; 0 is no limit. What is idle above a lower
 * limit goes back to the device now; what is live stays, and the pool does not grow until it is below. Of a
 * pool of plat_pool_with_limit the first is its quota, where 0 refuses everything, and the second is not
 * asked. */
PLAT_POOL_API plat_pool_status plat_pool_set_limits(plat_pool* pool, uint64_t limit_bytes,
                                                    uint64_t host_limit_bytes);
/* The live block that an address lies in, its tail included; PLAT_POOL_NOT_OWNED when there is none. For
 * tools and messages: it may look through all blocks. */
PLAT_POOL_API plat_pool_status plat_pool_owner(plat_pool* pool, const void* address, plat_pool_block* block);
/* Visits every live block, in order of addresses, until `visit` returns 0. Of what other threads take and
 * free meanwhile some may be missing, and some be gone again. It may call the pool: no lock is held. An arena
 * is the blocks that it took; pages of KV caches are no blocks. */
typedef int (*plat_pool_visitor)(void* user, const plat_pool_block* block);
PLAT_POOL_API plat_pool_status plat_pool_walk(plat_pool* pool, plat_pool_visitor visit, void* user);
/* Writes what the pool holds of the device now in the format of PyTorch's memory snapshots, as a pickle:
 * https://pytorch.org/memory_viz shows it, and plat report, view and replay read it. Each stretch of memory
 * is a segment, tiled with blocks that are active_allocated, active_pending_free (freed, and still used by
 * another stream) or inactive; all streams divide a pool, so the stream of a segment is 0, and there are no
 * stacks. What sleeps, pages that are mapped nowhere, those of KV caches and memory of the host are not in
 * it. A decorator writes the pool that it is around. The file is there whole or, with PLAT_POOL_INVALID, as
 * it was. What other threads do meanwhile may be in it or not. */
PLAT_POOL_API plat_pool_status plat_pool_snapshot(plat_pool* pool, const char* path);
/* Of what sleeps, nothing is used and nothing reserved. */
PLAT_POOL_API plat_pool_status plat_pool_tag_bytes(plat_pool* pool, uint16_t tag, uint64_t* used,
                                                   uint64_t* reserved);
/* Gives idle pages back until at most `keep_bytes` are held. */
PLAT_POOL_API plat_pool_status plat_pool_trim(plat_pool* pool, uint64_t keep_bytes);
/* Frees every block at once; streams that still use them must have finished. PLAT_POOL_BUSY, and nothing
 * freed, while another thread keeps small blocks in its cache: let it call plat_pool_flush_thread. On a
 * decorator it frees all blocks of the inner pool, also those that did not come through the decorator. */
PLAT_POOL_API plat_pool_status plat_pool_reset(plat_pool* pool);
PLAT_POOL_API plat_pool_status plat_pool_set_oom_callback(plat_pool* pool, plat_pool_oom_callback callback,
                                                          void* user);
/* Returns this thread's cached blocks to the pool. Threads do it themselves when they end. */
PLAT_POOL_API plat_pool_status plat_pool_flush_thread(plat_pool* pool);

/* Gives the pages of a tag (or of the whole pool: PLAT_POOL_ALL_TAGS) back to the device; addresses stay.
 * With `save`, contents are copied to host memory and restored by wake. Both succeed exactly or leave things
 * as they were. Host and cached memory has no pages: of it only what is idle goes. */
#define PLAT_POOL_ALL_TAGS 0xFFFFu
PLAT_POOL_API plat_pool_status plat_pool_sleep(plat_pool* pool, uint16_t tag, int save);
PLAT_POOL_API plat_pool_status plat_pool_wake(plat_pool* pool, uint16_t tag);

/* An arena hands out blocks of a pool that are freed in one call. For one thread at a time, and destroyed
 * before its pool. Reset keeps its memory for the next round, destroy gives it back. */
PLAT_POOL_API plat_pool_status plat_arena_create(plat_pool* pool, uint64_t chunk_bytes, plat_arena** arena);
/* An arena inside another: destroyed by itself, or together with all that is in the outer one when that is
 * reset or destroyed. chunk_bytes 0: as the outer one. */
PLAT_POOL_API plat_pool_status plat_arena_nest(plat_arena* outer, uint64_t chunk_bytes, plat_arena** arena);
PLAT_POOL_API plat_pool_status plat_arena_alloc(plat_arena* arena, uint64_t bytes, uint64_t alignment,
                                                void** address);
PLAT_POOL_API plat_pool_status plat_arena_reset(plat_arena* arena);
PLAT_POOL_API plat_pool_status plat_arena_destroy(plat_arena* arena);

/* A KV cache: addresses for the longest sequence, pages for the tokens there are. For one thread at a time,
 * and destroyed before its pool. */
PLAT_POOL_API plat_pool_status plat_kv_create(plat_pool* pool, uint64_t token_bytes, uint64_t max_tokens,
                                              plat_kv_cache** cache);
PLAT_POOL_API plat_pool_status plat_kv_set_tokens(plat_kv_cache* cache, uint64_t tokens);
PLAT_POOL_API void* plat_kv_base(const plat_kv_cache* cache);
PLAT_POOL_API uint64_t plat_kv_backed_bytes(const plat_kv_cache* cache);
PLAT_POOL_API plat_pool_status plat_kv_destroy(plat_kv_cache* cache);

/* Decorators: a pool around a pool. The outer one must be destroyed first; destroying it leaves the inner one
 * alone. */

/* Limits and statistics free and resize what came through them alone; other blocks are PLAT_POOL_NOT_OWNED. A
 * limit of 0 bytes refuses everything, unlike limit_bytes of the options, where 0 is no limit. */
PLAT_POOL_API plat_pool_status plat_pool_with_limit(plat_pool* upstream, uint64_t bytes, plat_pool** pool);
PLAT_POOL_API plat_pool_status plat_pool_with_statistics(plat_pool* upstream, plat_pool** pool);
/* Appends `op,id,size,stream,time` lines to the file, which plat replay reads: a = allocated, f = freed, u =
 * used on another stream; stream 0 is none. Memory of the host is left out. */
PLAT_POOL_API plat_pool_status plat_pool_with_trace(plat_pool* upstream, const char* path, plat_pool** pool);
/* Fills new blocks and freed ones with patterns and guards both ends; a broken guard is found when the block
 * is freed. The guard begins behind the block's tail: writes into ALIGN_UP(len, 32) + 32 bytes are not found.
 * guard_bytes is at most 1 MiB and rounded up to a multiple of 512, 0 to 512. */
PLAT_POOL_API plat_pool_status plat_pool_with_guards(plat_pool* upstream, uint64_t guard_bytes,
                                                     plat_pool** pool);
/* Fails the n-th allocation from now (1 is the next), then every `every`-th after it; every 0: only that one.
 * nth 0 and every 0 fail none. */
PLAT_POOL_API plat_pool_status plat_pool_with_faults(plat_pool* upstream, uint64_t nth, uint64_t every,
                                                     plat_pool** pool);

/* Adapters for programs that bring their own hooks: the entry pair of torch_npu's pluggable allocator (one
 * pool a device, created on first use), and the custom allocator of a stream.
 *
 * PLAT_POOL_TORCH configures the pools of the pair: "limit=8GiB,release=watermark,watermark=256MiB". Keys are
 * the options: limit, host_limit, initial, chunk, source (device, vmm, malloc), release (never, watermark,
 * now, idle), watermark, idle_ms, slack, thread_cache, reuse_waits, max_remaps, whole_pages. With a key or
 * value that is not understood there is no pool, and plat_pool_last_error() says why. */
PLAT_POOL_API void* plat_pool_torch_malloc(size_t size, int device, plat_stream stream);
PLAT_POOL_API void plat_pool_torch_free(void* address, size_t size, int device, plat_stream stream);
/* The pool behind that pair, for its statistics, trim and sleep; created if there is none yet, NULL with
 * plat_pool_last_error() when that fails. It lives as long as the process: never destroy it, since the
 * framework frees into it after main. */
PLAT_POOL_API plat_pool* plat_pool_torch_pool(int device);
/* Destroying a pool takes it off its streams. Unregister before a stream is destroyed. */
PLAT_POOL_API plat_pool_status plat_pool_register_on_stream(plat_pool* pool, plat_stream stream);
PLAT_POOL_API plat_pool_status plat_pool_unregister_from_stream(plat_stream stream);

/* Never NULL. The text stays as it is until the thread has met four more failures, the memory as long as the
 * thread. */
PLAT_POOL_API const char* plat_pool_last_error(void);
PLAT_POOL_API const char* plat_pool_status_name(plat_pool_status status);

#ifdef __cplusplus
}
#endif
