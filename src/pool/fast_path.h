// SPDX-License-Identifier: Apache-2.0
// FastPath: what the two calls of every block look at first, side by side in the handle. While it is open, a
// small block is a pop from a stack of the calling thread, and its free is a push; decorators never open
// theirs.
#pragma once

#include <atomic>
#include <cstdint>

#include "pool/size_class.h"
#include "pool/small_table.h"
#include "pool/thread_cache.h"

namespace plat::pool {

// `key` and `large` are loaded relaxed, and may be old. What closes them is a call of the pool: a use that
// was noted, memory that sleeps, a stream that was forgotten. A thread whose program has told it of that call
// reads what the call stored, or something later. One that was not told does what it would have done a moment
// before the call: for small blocks with its own cache, which nobody else touches or frees, and for large
// ones under the lock of a zone, where it asks again for what comes about under that lock: that the zone
// sleeps, and that a tool was told of its addresses. The pool itself was there before its handle. Who closes
// the path and needs all threads to have noticed asks for a flush, which a thread answers on the slow way.
struct FastPath {
  std::atomic<uint64_t> key{UINT64_MAX};  // the pool's number while it is open for small blocks
  std::atomic<Pool*> large{nullptr};      // the pool while it is open for large ones
  // The first space of the small zone, which holds all small blocks of most programs.
  std::atomic<uint64_t> base{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<SmallTable*> table{nullptr};
  // Bytes behind every block, which takes whole multiples of 32 before them, and the most that may be asked
  // for.
  uint32_t tail = 0;
  uint32_t most = kSmallMax;

  // Nothing, less one, is more than everything.
  bool is_large(uint64_t asked) const { return asked - 1 >= most; }
  uint32_t class_of(uint64_t asked) const {
    return class_at(((static_cast<uint32_t>(asked) - 1) | 31) + tail);
  }
  bool holds(const void* address) const {
    const uint64_t end = bytes.load(std::memory_order_acquire);  // set last: the others are, when it is
    return reinterpret_cast<uint64_t>(address) - base.load(std::memory_order_relaxed) < end;
  }
  // The class of the live block that starts at an address that it holds; kClasses when there is none.
  uint32_t class_of_live(const void* address) const {
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - base.load(std::memory_order_relaxed);
    const SmallTable& small = *table.load(std::memory_order_relaxed);
    const auto entry = small.entry(offset);
    return entry && small.find(offset, entry.index()) != nullptr ? entry.index() : kClasses;
  }

  // Null when another way must be tried.
  void* pop(uint64_t asked, plat_stream stream) const {
    const ReadyCache& ready = ready_cache;
    if (is_large(asked) || ready.key != key.load(std::memory_order_relaxed) || ready.stream != stream)
        [[unlikely]]
      return nullptr;
    const SmallBlock block = ready.cache->pop(class_of(asked));
    if (block.address != nullptr) [[likely]]
      SmallTable::open(*block.flag);
    return block.address;
  }
  [[gnu::always_inline]] bool push(void* address, plat_stream stream) const {
    const uint64_t end = bytes.load(std::memory_order_acquire);  // as in holds()
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - base.load(std::memory_order_relaxed);
    const ReadyCache& ready = ready_cache;
    if (offset >= end || ready.key != key.load(std::memory_order_relaxed) || ready.stream != stream)
        [[unlikely]]
      return false;
    const SmallTable& small = *table.load(std::memory_order_relaxed);
    const auto entry = small.entry(offset);
    SmallTable::LiveFlag* const flag = entry ? small.find(offset, entry.index()) : nullptr;
    if (flag == nullptr || !ready.cache->push(entry.index(), {address, flag})) [[unlikely]]
      return false;
    SmallTable::close(*flag);
    return true;
  }
};

}  // namespace plat::pool
