// SPDX-License-Identifier: Apache-2.0
// Streams: who may still touch freed memory, and how far the device has got.
//
// A free on a stream costs no device call. It is marked with the stream's current batch; only when somebody
// else could use the memory is an event recorded behind the batch, and when that event has passed, the batch
// is nobody's.
//
// A stream that the pool does not know yet is looked up on the device: one that is not there never was, as
// far as the pool can tell. One that it knows and that is not there any more was destroyed, and has finished;
// its domain is given up, and a free that names it later still is good.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "plat/pool.h"
#include "pool/events.h"

namespace plat::pool {

class Streams {
 public:
  static constexpr uint16_t kMax = 255;  // domains; stream number 256 of a pool is an error that says so
  // No domains, and why.
  static constexpr uint16_t kTooMany = UINT16_MAX;       // or the device does not answer
  static constexpr uint16_t kNoStream = UINT16_MAX - 1;  // it never was, or is gone
  static bool is_domain(uint16_t domain) { return domain <= kMax; }

  explicit Streams(Events& events) : events_(&events) {}
  ~Streams();
  // The domain of a stream that shall use memory, 0 for none. Not a domain when there is none for it.
  uint16_t domain_of(plat_stream stream) {
    if (stream == nullptr) return 0;
    const uint16_t count = count_.load(std::memory_order_acquire);
    for (uint16_t i = 0; i < count; ++i)
      if (entries_[i].stream.load(std::memory_order_relaxed) == stream) return static_cast<uint16_t>(i + 1);
    return add(stream);
  }
  // The domain of a stream that has used memory; 0 when it has finished. With too many streams it waits for
  // this one; kTooMany when it cannot be waited for, kNoStream when it never was.
  uint16_t domain_to_free_on(plat_stream stream);
  // The batch that a free on the domain joins. Under the lock of the zone that the block is filed in.
  uint32_t join_batch(uint16_t domain) {
    Entry& entry = entries_[domain - 1];
    // In this order a batch that closes in between leaves the flag behind, which costs an event and never
    // loses a block.
    const uint32_t batch = entry.batch.load(std::memory_order_acquire);
    if (!entry.dirty.load(std::memory_order_relaxed)) entry.dirty.store(true, std::memory_order_relaxed);
    return batch;
  }
  uint16_t count() const { return count_.load(std::memory_order_acquire); }

  enum class Effort { kPoll, kWait };
  struct Passed {
    uint32_t batch = 0;          // the highest that has passed, or 0
    plat_stream gone = nullptr;  // the stream, when it is there no more
  };
  // Records an event behind what is unmarked and asks the device how far it is. The domain of a stream that
  // is gone belongs to nobody then, and must be vacated.
  Passed passed(uint16_t domain, Effort effort);
  // Makes `waiter` wait for everything freed on `domain` so far. The batch that it covers, or 0 when the
  // device refused.
  uint32_t make_wait(uint16_t domain, plat_stream waiter);
  // Waits for the stream. Its domain, 0 when unknown, kTooMany when it cannot be waited for; what was freed
  // on it up to `*batch` is nobody's then. vacate() gives the domain to the next stream.
  uint16_t finish(plat_stream stream, uint32_t* batch);
  void vacate(uint16_t domain);
  bool wait_for(plat_stream stream) { return events_->wait_for_stream(stream); }
  // Whether the stream is one that the pool has met, or is there now.
  bool knows(plat_stream stream);

 private:
  struct Pending {
    void* event;
    uint32_t batch;
  };
  // All three are written under the mutex, but for `dirty`, which frees set, and are read without it. An
  // asker is a thread that closes a batch; tests/model/pool_test.cpp has it and the free in small.
  //
  // `stream` is relaxed. A place is found in it by who looks for his own stream, and what he then does
  // there, to join a batch or to take what was freed, he does under the lock of a zone. A place that is used
  // again was settled under all these locks before the next stream was written to it; whoever has read that
  // stream cannot have had a lock before that, since nobody reads what happens after he has read it. Who
  // reads an old value looks again under the mutex. The first use of a place is shown by the count.
  //
  // `batch` and `dirty`: an asker clears the flag before the batch closes, with release, so that a free that
  // acquires the next batch finds the flag cleared, or set by a free that this asker has not seen, and never
  // takes an old flag for its own. A free that still gets the batch that closes is one that this event
  // covers: had the event been recorded before the work that the free comes after, the stream that has both
  // would have ordered the closing before the free. And it is filed before the batch is settled: had its
  // zone been settled before, the zone's lock would have ordered the same. The flag itself orders nothing,
  // and who sees it late asks later.
  struct Entry {
    std::atomic<plat_stream> stream{nullptr};  // the entry itself: of one that is gone, until it is vacated
    std::atomic<uint32_t> batch{1};
    std::atomic<bool> dirty{false};
    std::vector<Pending> pending;
  };
  static constexpr size_t kFormer = 1024;
  uint16_t add(plat_stream stream);
  StreamState state_of(Entry& entry, plat_stream stream);
  void note_former(plat_stream stream);
  bool was_here(plat_stream stream) const;
  // Frees from now on belong to another batch than the one that is returned.
  static uint32_t close_batch(Entry& entry) {
    entry.dirty.store(false, std::memory_order_relaxed);
    return entry.batch.fetch_add(1, std::memory_order_release);
  }
  void drop_pending(Entry& entry);
  bool record(Entry& entry, uint32_t batch);
  void* new_event();

  Events* const events_;
  std::mutex mutex_;  // guards pending, spare_events_ and former_, and adding
  std::atomic<uint16_t> count_{0};
  std::array<Entry, kMax> entries_;
  std::vector<void*> spare_events_;
  std::vector<plat_stream> former_;  // the last that were vacated, as a ring
  size_t next_former_ = 0;
};

}  // namespace plat::pool
