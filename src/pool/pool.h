// pool/: secondary allocation. Device memory is taken in pages or blocks and handed out in pieces that keep
// the rules of its owner.
//
//   resource.h      what every pool and decorator can do; the C API calls nothing else
//   pool_impl.h     the pool: all of this put together, and the ladder of last resorts
//   zone.h          a heap of blocks with the address space and the pages under it
//   spans.h         blocks of up to 32 KiB, cut from 32 or 64 KiB spans
//   thread_cache.h  what makes a small allocation a pop and its free a push
//   small_table.h   which span and class a small block is of, and whether it is handed out
//   streams.h       who may still touch freed memory, and how far the device has got
//   source.h        the device calls for memory, and events.h those for streams
//   tool_hook.h     what tools hear by mstx, and batch.h how they hear of much at once
//
// Sees the device only through the public headers, so that it runs over the vendor's library too. Never
// prints, never throws across the C API, keeps nothing in device memory. Lock order: growth, then zone, then
// spans, then streams; at most the thread that grows holds two zones.
#pragma once

#include "pool/pool_impl.h"
