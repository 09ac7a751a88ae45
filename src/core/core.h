// core/: pure algorithms: page table, free ranges, bitmaps, stable arrays.
//
// May include: base/. No system call, no global, no lock: callers serialise writers, readers are lock-free
// where it says so.
#pragma once

#include "core/bitmap.h"
#include "core/page_table.h"
#include "core/range_allocator.h"
#include "core/stable_array.h"
