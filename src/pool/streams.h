// Streams: who may still touch freed memory, and how far the device has got.
//
// A free on a stream costs no device call. It is marked with the stream's current batch; only when somebody
// else could use the memory is an event recorded behind the batch, and when that event has passed, the batch
// is nobody's.
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

  ~Streams();
  // Before the first stream.
  void use(Events& events) { events_ = &events; }
  // The domain of a stream, 0 for none. UINT16_MAX when there are too many streams.
  uint16_t domain_of(plat_stream stream) {
    if (stream == nullptr) return 0;
    const uint16_t count = count_.load(std::memory_order_acquire);
    for (uint16_t i = 0; i < count; ++i)
      if (entries_[i].stream.load(std::memory_order_relaxed) == stream) return static_cast<uint16_t>(i + 1);
    return add(stream);
  }
  // The same, but with too many streams it waits for this one, after which the memory is nobody's. UINT16_MAX
  // when it cannot be waited for.
  uint16_t domain_or_wait(plat_stream stream);
  // The batch that a free on the domain joins now.
  uint32_t mark(uint16_t domain) {
    Entry& entry = entries_[domain - 1];
    // In this order a batch that closes in between leaves the mark behind, which costs an event and never
    // loses a block.
    const uint32_t batch = entry.batch.load(std::memory_order_acquire);
    if (!entry.dirty.load(std::memory_order_relaxed)) entry.dirty.store(true, std::memory_order_release);
    return batch;
  }
  uint16_t count() const { return count_.load(std::memory_order_acquire); }

  enum class Effort { kPoll, kWait };
  // Records an event behind what is unmarked and asks the device how far it is; the highest batch that has
  // passed, or 0.
  uint32_t passed(uint16_t domain, Effort effort);
  // Makes `waiter` wait for everything freed on `domain` so far. The batch that it covers, or 0 when the
  // device refused.
  uint32_t make_wait(uint16_t domain, plat_stream waiter);
  // Waits for the stream. Its domain, 0 when unknown, UINT16_MAX when it cannot be waited for; what was freed
  // on it up to `*batch` is nobody's then. vacate() gives the domain to the next stream.
  uint16_t finish(plat_stream stream, uint32_t* batch);
  void vacate(uint16_t domain);

 private:
  struct Pending {
    void* event;
    uint32_t batch;
  };
  struct Entry {
    std::atomic<plat_stream> stream{nullptr};
    std::atomic<uint32_t> batch{1};
    std::atomic<bool> dirty{false};
    std::vector<Pending> pending;
  };
  uint16_t add(plat_stream stream);
  // Frees from now on belong to another batch than the one that is returned.
  static uint32_t close_batch(Entry& entry) {
    entry.dirty.store(false, std::memory_order_relaxed);
    return entry.batch.fetch_add(1);
  }
  void drop_pending(Entry& entry);
  bool record(Entry& entry, uint32_t batch);
  void* new_event();

  Events* events_ = nullptr;
  std::mutex mutex_;  // guards pending and spare_events_, and adding
  std::atomic<uint16_t> count_{0};
  std::array<Entry, kMax> entries_;
  std::vector<void*> spare_events_;
};

}  // namespace plat::pool
