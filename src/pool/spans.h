// SPDX-License-Identifier: Apache-2.0
// Spans: blocks of up to 32 KiB. A span is a stretch of 32 or 64 KiB cut into blocks of one class, with a
// bitmap beside it that says which are free. Threads take and return blocks in batches, so this is off the
// fast path. What threads return goes to the depot first, and what they take comes from it.
//
// Blocks that were freed on a stream wait in a store of that stream, usable on it at once, until the stream
// has passed them. Everything here, but for the depot, happens under the lock of the zone that the spans are
// cut from.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/range_block.h"
#include "pool/depot.h"
#include "pool/size_class.h"
#include "pool/small_table.h"

namespace plat::pool {

inline constexpr uint32_t kNoSpan = UINT32_MAX;

struct Span {
  char* base;
  core::RangeId block;  // of the zone
  uint16_t index;       // class
  uint16_t total;
  uint16_t free;
  uint32_t prev;  // list of spans of the class with something free
  uint32_t next;
  std::array<uint64_t, 8> bits;  // 1: free
};

class Spans {
 public:
  Spans() { partial_.fill(kNoSpan); }

  // Up to `count` blocks of a class for `domain` that were used before; when there are none, up to `fresh`
  // that are cut for it, fewer when the spans are used up. Not all come with their flags.
  uint32_t take(uint32_t index, uint16_t domain, SmallBlock* out, uint32_t count, uint32_t fresh);
  // Its blocks are handed out as far as their spans know.
  Depot& depot() { return depot_; }
  // A block comes back; the span is told by the small table. Returns a span that is now empty and should go,
  // or kNoSpan.
  // `*twice` is set when the block was free already or is no block.
  uint32_t give(uint32_t span, void* address, bool* twice);
  // The same for a block that work on a stream may still touch.
  void defer(uint32_t index, uint32_t span, void* address, uint16_t domain, uint32_t batch);
  // Deferred blocks up to `batch` become free, or another stream's; emptied spans are appended to `gone`.
  uint32_t settle(uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch,
                  std::vector<uint32_t>& gone);

  uint32_t add(uint32_t index, char* base, core::RangeId block);
  void drop(uint32_t span);
  // The spans that hold nothing and are kept for the next request.
  void spare(std::vector<uint32_t>& out) const;
  // Every span, and forgetting every block of them: the pool starts anew.
  void all(std::vector<uint32_t>& out) const;
  void clear();
  const Span& at(uint32_t span) const { return spans_[span]; }

  // Handed out, thread caches included.
  uint64_t out_bytes() const { return out_bytes_ - depot_.bytes(); }
  uint64_t out_blocks() const { return out_blocks_ - depot_.blocks(); }
  uint64_t deferred_bytes() const { return deferred_bytes_; }
  uint64_t depot_bytes() const { return depot_.bytes(); }
  uint64_t bookkeeping_bytes() const { return spans_.capacity() * sizeof(Span); }

 private:
  struct Deferred {
    void* address;
    uint32_t span;
    uint32_t batch;
  };
  void link(uint32_t span);
  void unlink(uint32_t span);

  std::vector<Span> spans_;
  std::vector<uint32_t> recycled_;
  std::array<uint32_t, kClasses> partial_;
  Depot depot_;
  std::unordered_map<uint32_t, std::vector<Deferred>> deferred_;  // by domain and class
  uint64_t out_bytes_ = 0;                                        // with those in the depot
  uint64_t out_blocks_ = 0;
  uint64_t deferred_bytes_ = 0;
};

}  // namespace plat::pool
