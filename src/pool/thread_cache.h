// SPDX-License-Identifier: Apache-2.0
// ThreadCache: what makes a small allocation a pop and its free a push. Each thread keeps, for each pool and
// stream it works with, a short stack of block addresses per class. A block may be freed by any thread: it
// goes to the stack of the thread that frees it, and stacks that overflow give most of themselves to the
// depot, or to the spans when that is full, in one go, so a producer and a consumer meet once per batch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "plat/pool.h"
#include "pool/size_class.h"
#include "pool/small_table.h"

namespace plat::pool {

class Caches;
class Pool;
class Zone;

// The stacks for one stream of one pool. Counts are relaxed, because only the thread itself changes them and
// looks at the blocks; others add them up for statistics, and ask whether there are any before a reset or a
// sleep. The program orders these after its frees, on whichever threads, so that they count what those left.
class StreamCache {
 public:
  static constexpr uint32_t kMost = 64;  // of a class

  explicit StreamCache(plat_stream stream);
  // The address is null when there is none.
  SmallBlock pop(uint32_t index) {
    Stack& stack = stacks_[index];
    const uint32_t count = stack.count.load(std::memory_order_relaxed);
    if (count == 0) [[unlikely]]
      return {};
    stack.count.store(count - 1, std::memory_order_relaxed);
    return stack.blocks[count - 1];
  }
  bool push(uint32_t index, SmallBlock block) {
    Stack& stack = stacks_[index];
    const uint32_t count = stack.count.load(std::memory_order_relaxed);
    if (count == stack.capacity) [[unlikely]]
      return false;
    stack.blocks[count] = block;
    stack.count.store(count + 1, std::memory_order_relaxed);
    return true;
  }
  // The oldest `count` blocks of a class leave; `out` has room for them.
  uint32_t drain(uint32_t index, uint32_t count, SmallBlock* out);
  const SmallBlock* oldest(uint32_t index) const { return stacks_[index].blocks; }
  void drop_oldest(uint32_t index, uint32_t count);
  // Where the blocks of a class go that its owner brings, and how many have room there.
  struct Room {
    SmallBlock* blocks;
    uint32_t count;
  };
  Room room(uint32_t index) {
    Stack& stack = stacks_[index];
    const uint32_t count = stack.count.load(std::memory_order_relaxed);
    return {stack.blocks + count, stack.capacity - count};
  }
  void grow(uint32_t index, uint32_t count) {
    Stack& stack = stacks_[index];
    stack.count.store(stack.count.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  uint64_t cached_bytes() const;
  uint64_t cached_blocks() const;
  plat_stream stream() const { return stream_; }
  // Nothing more is kept for the stream. It was forgotten, and has passed everything: its blocks are
  // nobody's. Or it is gone, and then some may be of another that has got its name since. Relaxed: who hears
  // of it late files under the stream for so long.
  enum class End : uint8_t { kNone, kGone, kForgotten };
  void end(End how) { end_.store(how, std::memory_order_relaxed); }
  End ended() const { return end_.load(std::memory_order_relaxed); }

 private:
  plat_stream stream_;
  std::atomic<End> end_{End::kNone};
  struct Stack {
    SmallBlock* blocks;
    std::atomic<uint32_t> count{0};  // written by the owner, read by statistics
    uint32_t capacity;
  };
  std::array<Stack, kClasses> stacks_;
  std::unique_ptr<SmallBlock[]> blocks_;
};

// What a thread keeps of one pool, and which zone it takes middling blocks from.
struct ThreadCache {
  uint64_t pool_id = 0;
  std::vector<std::unique_ptr<StreamCache>> of_streams;
  uint32_t contention = 0;  // times the thread found the common zone taken
  uint32_t zone = 0;        // 0: the common one; else the number of its own
  uint64_t flush_seen = 0;
};

// What the fast path looks at: the cache of the last call, valid while its key is the pool's.
struct ReadyCache {
  uint64_t key = 0;
  plat_stream stream = nullptr;
  StreamCache* cache = nullptr;
  Zone* own_zone = nullptr;       // the thread's own zone for middling blocks, if it has one
  ThreadCache* thread = nullptr;  // of which the cache is a part
};
extern constinit thread_local ReadyCache ready_cache __attribute__((tls_model("initial-exec")));

// The calling thread's cache for a pool, created when missing. Null when the thread is ending.
ThreadCache* thread_cache_of(Caches& caches);

// A number for a new pool, under which threads know it.
uint64_t next_pool_id();
// The pool is there: threads that end find it, and so do others on its device that run out of memory.
void announce_pool(uint64_t id, Pool& pool);
// The pool goes: no thread may return blocks to it any more.
void forget_pool(uint64_t id);
// Calls back with every other live pool, each kept alive during the call.
void for_other_pools(Pool& pool, void (*visit)(Pool& other, Pool& asking));

}  // namespace plat::pool
