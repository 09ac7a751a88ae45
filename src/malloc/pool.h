// SPDX-License-Identifier: Apache-2.0
// Pool: memory that is allocated and freed in the order of streams.
//
// A pool holds segments of device memory, each cut into stretches of whole 2 MiB pages. A stretch that was
// freed remembers behind which work; it is handed out again where that work is known to come first: on the
// same stream always, on others as the pool's attributes allow. Once its stream has been synchronised it is
// anybody's. Segments without stretches in use go back to the device when more is held than the threshold
// says.
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/page_table.h"
#include "device/ids.h"
#include "stream/streams.h"
#include "vmm/vmm.h"

namespace plat::malloc {

// One region of a pool. Tells, without a lock, which stretch is live around an address.
class PoolSegment final : public vmm::SubBlocks {
 public:
  explicit PoolSegment(uint64_t size_bytes)
      : pages(size_bytes / core::kPageBytes),
        first_(std::make_unique<std::atomic<uint32_t>[]>(pages)),
        live_(std::make_unique<std::atomic<uint64_t>[]>(pages)) {}

  std::optional<Block> block_at(Va va) const override;
  bool has_tag(const Tag* tag) const override { return tag >= &live_[0] && tag < &live_[0] + pages; }
  void open(Va stretch, uint64_t size_bytes);
  // Back to what it was when it was made.
  void reset();
  void close(Va stretch) { live_[page_of(stretch)].store(0, std::memory_order_release); }

  const uint64_t pages;
  std::atomic<uint64_t> start{0};
  bool is_spare = false;  // the store's

 private:
  uint64_t page_of(Va va) const {
    return (va.value - start.load(std::memory_order_acquire)) >> core::kPageShift;
  }

  std::unique_ptr<std::atomic<uint32_t>[]> first_;  // of each page: where its stretch starts
  std::unique_ptr<std::atomic<uint64_t>[]> live_;   // by first page: size of the live stretch, or 0
};

struct PoolAttributes {
  bool follow_events = false;
  bool opportunistic = false;
  bool internal_dependencies = false;
  uint64_t release_threshold = 0;
};

// Segments of all pools. They are used again and never destroyed: whoever looks up an address may still hold
// on to one.
class SegmentStore {
 public:
  PoolSegment* take(uint64_t size_bytes);
  void give_back(PoolSegment* segment);

 private:
  std::vector<std::unique_ptr<PoolSegment>> all_;
};

class Pool {
 public:
  Pool(vmm::Vmm& vmm, SegmentStore& segments, device::BankId bank, uint64_t max_bytes)
      : vmm_(vmm), segments_(segments), bank_(bank), max_bytes_(max_bytes) {}

  // Callers hold the mutex of the set that the pool belongs to.
  struct Wait {  // what the stream must be made to wait for; stream 0 is nothing
    stream::StreamId stream;
    stream::Position position = 0;
  };
  struct Allocation {
    Va start;
    uint64_t generation = 0;  // tells the stretch's lives apart
    // Whether it opens in stream order: work that is queued still means the block that was there before.
    bool opens_later = false;
    Wait wait;
    Wait before;  // the work that the stretch was free behind
  };
  Result<Allocation> allocate(uint64_t size_bytes, const stream::Streams& streams, stream::StreamId stream);
  // Nobody has had it yet: it is free behind what it was free behind. False if its device was reset since.
  bool undo(const Allocation& allocation);
  // The stream has reached an allocation that opens later.
  void open(uint64_t generation);
  // Frees behind what the stream was given up to the position; 0 for at once. Returns the size.
  std::optional<uint64_t> free(Va va, stream::StreamId stream, stream::Position position);
  // The free was reached: unless the stretch lives again, nothing may touch it any more.
  void expire(Va va);
  // The stream was synchronised: what was freed on it is anybody's, and too much of it is given back.
  void settle(const stream::Streams& streams);
  // Gives idle segments back while more than `keep_bytes` are held; never less are kept, unless `below`.
  void trim(uint64_t keep_bytes, bool below, const stream::Streams& streams);

  PoolAttributes attributes;
  uint64_t max_bytes() const { return max_bytes_; }
  // Whether the pool may grow by so much, as far as its own limit goes.
  bool could_hold(uint64_t size_bytes) const {
    return size_bytes <= max_bytes_ &&
           align_up(size_bytes, core::kPageBytes) <= max_bytes_ - std::min(reserved_, max_bytes_);
  }
  uint64_t reserved_bytes() const { return reserved_; }
  uint64_t used_bytes() const { return used_; }
  uint64_t reserved_peak = 0;
  uint64_t used_peak = 0;
  bool destroyed = false;
  device::BankId bank() const { return bank_; }

 private:
  struct Stretch {
    uint64_t size_bytes = 0;
    bool in_use = false;
    uint64_t generation = 0;
    stream::StreamId stream;  // 0: nothing to wait for
    stream::Position position = 0;
    PoolSegment* segment = nullptr;
  };
  using Stretches = std::map<uint64_t, Stretch>;  // by start

  enum class Reuse { No, Yes, AfterWait };
  Reuse may_reuse(const Stretch& stretch, const stream::Streams& streams, stream::StreamId stream) const;
  Allocation take(Stretches::iterator at, uint64_t size_bytes, const stream::Streams& streams);
  Result<Stretches::iterator> grow(uint64_t size_bytes, const stream::Streams& streams);
  Stretches::iterator merge(Stretches::iterator at);

  vmm::Vmm& vmm_;
  SegmentStore& segments_;
  const device::BankId bank_;
  const uint64_t max_bytes_;
  Stretches stretches_;
  struct Opening {
    Va start;
    uint64_t size_bytes;
    PoolSegment* segment;
  };
  std::map<uint64_t, Opening> openings_;  // by generation: lives that their streams have not reached
  uint64_t reserved_ = 0;
  uint64_t used_ = 0;
  uint64_t generations_ = 0;
};

}  // namespace plat::malloc
