// pool/: secondary allocation. Device memory is taken in pages or blocks and handed out in pieces that keep
// the rules of its owner.
//
//   resource.h      what every pool and decorator can do; the C API calls nothing else
//   pool_impl.h     the pool: zones, spans, thread caches, streams, the ladder of last resorts
//   zone.h          one heap of blocks: a RangeHeap, the pages under it, its live blocks
//   spans.h         blocks of up to 32 KiB, cut from 32 or 64 KiB spans
//   thread_cache.h  what makes a small allocation a pop and its free a push
//   streams.h       who may still touch freed memory, and how far the device has got
//   small_table.h   which span and class a small block is of, and whether it is handed out
//   source.h        the device calls, behind one interface
//
// Sees the device only through the public headers, so that it runs over the vendor's library too. Never
// prints, never throws across the C API, keeps nothing in device memory. Lock order: growth, then zone, then
// spans, then streams; at most the thread that grows holds two zones.
#pragma once

#include "pool/pool_impl.h"
