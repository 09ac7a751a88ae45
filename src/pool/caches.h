// SPDX-License-Identifier: Apache-2.0
// Caches: the thread caches of a pool. Each thread that works with the pool keeps small blocks here, on one
// stack a class for each stream, and what it has too many of goes to the depot, or back to the spans. Threads
// come and go by themselves; what the pool wants of all of them it asks for by an epoch, which each notices
// when it passes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "pool/streams.h"
#include "pool/thread_cache.h"
#include "pool/zones.h"

namespace plat::pool {

class Caches {
 public:
  // `id`: the number of the pool, under which threads know it.
  Caches(uint64_t id, Zones& zones, Streams& streams, const SpaceIndex& index)
      : id_(id),
        key_(id << kKeyShift),
        zones_(zones),
        streams_(streams),
        index_(index),
        depot_(zones.small().spans()->depot()) {}

  uint64_t id() const { return id_; }
  // What the fast path of a thread is known by; another one when caches have ended that threads may hold.
  // Relaxed: a thread that knows the old one still has its cache, which it alone lets go of.
  uint64_t key() const { return key_.load(std::memory_order_relaxed); }

  // A thread joins, or ends and returns its blocks.
  void enlist(ThreadCache& cache);
  void retire(ThreadCache& cache);

  // What the thread keeps for a stream; made when missing. It becomes what the fast path looks at.
  StreamCache* of_stream(ThreadCache& cache, plat_stream stream);
  // The same, after it has returned what was asked back since.
  StreamCache* current(ThreadCache& cache, plat_stream stream);
  // The thread frees a block, and keeps it.
  void keep(ThreadCache& cache, plat_stream stream, uint32_t index, void* address);
  // The short ways of a thread whose stack of a class is full, or empty: most of it goes to the depot, or as
  // much as it holds comes from there. False, and nothing happened, when anything is out of the ordinary.
  bool spill(uint32_t index);
  bool refill(uint32_t index);
  // Returns everything that the calling thread keeps.
  void flush_mine();
  // Asks it of all others.
  void request_flush() { flush_epoch_.fetch_add(1); }

  // The stream has finished: no thread may file blocks under it any more. They are nobody's now when it was
  // forgotten; when it is gone, it is asked for once more, by its name.
  void end(plat_stream stream, StreamCache::End how);
  // For the streams whose freed blocks threads keep; false when one refuses.
  bool wait_for_streams(Events& events);
  bool hold_blocks();
  // What threads keep is handed out as far as the spans know.
  void count(uint64_t& bytes, uint64_t& blocks);

  // The zone for middling blocks of the calling thread; null while it uses the common one.
  Zone* own_zone(plat_stream stream);
  // The thread found the common zone taken; often enough, and it gets one of its own.
  void note_contention();

 private:
  // How many streams may end before keys meet those of other pools.
  static constexpr uint32_t kKeyShift = 32;
  static constexpr uint32_t kContentionLimit = 8;
  StreamCache* ready() const;
  void drop_ended(ThreadCache& cache);
  void flush(ThreadCache& cache);
  void flush(StreamCache& cache, uint32_t index, uint32_t count);

  const uint64_t id_;
  std::atomic<uint64_t> key_;
  Zones& zones_;
  Streams& streams_;
  const SpaceIndex& index_;
  Depot& depot_;
  std::mutex mutex_;  // guards the list of caches, and which streams each is for
  std::vector<ThreadCache*> caches_;
  std::atomic<uint64_t> flush_epoch_{0};
};

}  // namespace plat::pool
