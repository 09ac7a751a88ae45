// SPDX-License-Identifier: Apache-2.0
/* Sources of one's own: a pool over memory that neither the device's calls nor the caller's range give, for
 * tests, simulations, and memory that a program has from elsewhere.
 *
 *   plat_pool_source_ops ops = PLAT_POOL_SOURCE_OPS_INIT;
 *   ops.create_block = my_alloc;
 *   ops.destroy_block = my_free;
 *   plat_pool_create_over(&ops, my_memory, NULL, &pool);
 *
 * A source has pages or blocks. Operations return PLAT_POOL_OK; PLAT_POOL_NO_MEMORY, after which the pool
 * looks for other memory and tries again; or anything else, after which the call of the pool fails with
 * PLAT_POOL_DEVICE. They may be called from any thread that calls the pool, one at a time, except for those
 * of streams and events, and must not call the pool. */
#pragma once

#include <plat/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLAT_POOL_SOURCE_PAGE_BYTES (2u << 20)

typedef enum plat_pool_stream_state {
  PLAT_POOL_STREAM_IDLE = 0,   /* nothing is queued on it */
  PLAT_POOL_STREAM_BUSY = 1,   /* something is */
  PLAT_POOL_STREAM_GONE = 2,   /* it was destroyed, and has finished; or it never was */
  PLAT_POOL_STREAM_UNKNOWN = 3 /* nobody knows at the moment */
} plat_pool_stream_state;

/* Begins with its own size, as all structs here do: operations are added at the end, and what an older
 * program does not have is NULL. */
typedef struct plat_pool_source_ops {
  PLAT_POOL_STRUCT_SIZE(struct plat_pool_source_ops);
  uint64_t total_bytes;       /* how much there is, for sizing ranges of addresses; 0: unknown */
  uint64_t largest_alignment; /* at which blocks, or ranges, start; a power of two, 0: 2 MiB */

  /* Pages of PLAT_POOL_SOURCE_PAGE_BYTES, mapped into ranges of addresses that start at multiples of that:
   * all six, or none. What is not taken back (another status than OK) is still held. */
  plat_pool_status (*reserve)(void* user, uint64_t bytes, void** base);
  plat_pool_status (*unreserve)(void* user, void* base);
  plat_pool_status (*create_page)(void* user, void** page);
  plat_pool_status (*destroy_page)(void* user, void* page);
  plat_pool_status (*map_page)(void* user, void* address, void* page);
  plat_pool_status (*unmap_page)(void* user, void* address);

  /* Else blocks, which are given back as they were had: both. */
  plat_pool_status (*create_block)(void* user, uint64_t bytes, void** base);
  plat_pool_status (*destroy_block)(void* user, void* base);

  /* How far streams are: all five, or none, and then every stream has always finished. An event has passed
   * when everything queued on the stream before it was recorded has run. */
  plat_pool_stream_state (*stream_state)(void* user, plat_stream stream);
  plat_pool_status (*wait_for_stream)(void* user, plat_stream stream);
  plat_pool_status (*record_event)(void* user, plat_stream stream, void** event);
  plat_pool_stream_state (*event_state)(void* user, void* event, int wait); /* IDLE: it has passed */
  void (*destroy_event)(void* user, void* event);

  /* The source's words for its last failure in the calling thread, for messages; may be NULL. */
  const char* (*last_error)(void* user);
  /* The pool is gone, and everything given back; may be NULL. Not called when the pool could not be made. */
  void (*finish)(void* user);
} plat_pool_source_ops;

#ifdef __cplusplus
#define PLAT_POOL_SOURCE_OPS_INIT \
  {}
#else
#define PLAT_POOL_SOURCE_OPS_INIT \
  { .struct_size = sizeof(plat_pool_source_ops) }
#endif

/* The table is copied. `options` may be NULL; its source, device and caller's range do not count. The pool
 * has memory of the source alone: PLAT_POOL_HOST and PLAT_POOL_CACHED are PLAT_POOL_UNSUPPORTED. */
PLAT_POOL_API plat_pool_status plat_pool_create_over(const plat_pool_source_ops* ops, void* user,
                                                     const plat_pool_options* options, plat_pool** pool);

#ifdef __cplusplus
}
#endif
