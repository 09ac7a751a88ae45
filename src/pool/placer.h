// SPDX-License-Identifier: Apache-2.0
// Placer: where a new block comes from. A small one out of the thread's cache, or of spans; a large one out
// of the heap of its zone; either out of memory that the ladder brings in when there is none.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "core/range_heap_idle.h"
#include "pool/block_shape.h"
#include "pool/caches.h"
#include "pool/fast_path_switch.h"
#include "pool/ladder.h"
#include "pool/resource.h"

namespace plat::pool {

class Placer {
 public:
  Placer(const std::string& name, const plat_pool_options& options, const BlockShape& shape, Zones& zones,
         Streams& streams, Caches& caches, const SpaceIndex& index, FastPathSwitch& fast, Backing& backing,
         Ladder& ladder)
      : name_(name),
        options_(options),
        shape_(shape),
        zones_(zones),
        streams_(streams),
        caches_(caches),
        index_(index),
        fast_(fast),
        backing_(backing),
        ladder_(ladder) {}

  // The request was checked.
  plat_pool_status place(const Request& request, void** address);
  // A large block out of memory that is there and with nobody in the way; a small one that another thread has
  // returned. False, and nothing happened, when anything is out of the ordinary.
  bool place_at_once(uint64_t bytes, plat_stream stream, void** address);
  bool place_small_at_once(uint64_t bytes, plat_stream stream, void** address);

 private:
  // Blocks up to this size come from a zone of the thread's own once threads get into each other's way.
  static constexpr uint64_t kMostOfThread = 1_MiB;
  bool has_zones_of_threads() const { return options_.thread_cache != 0 && backing_.source().has_pages(); }
  bool place_on_stream(Zone& zone, uint32_t granules, uint64_t bytes, plat_stream stream, void** address);
  plat_pool_status place_small(const Request& request, uint32_t index, uint16_t domain, void** address);
  plat_pool_status place_large(const Request& request, uint16_t domain, void** address);
  SmallBlock take_small(Zone& zone, uint32_t index, uint16_t domain, StreamCache* cache);
  Zone& large_zone_for(const Request& request);

  const std::string& name_;
  const plat_pool_options& options_;
  const BlockShape& shape_;
  Zones& zones_;
  Streams& streams_;
  Caches& caches_;
  const SpaceIndex& index_;
  FastPathSwitch& fast_;
  Backing& backing_;
  Ladder& ladder_;
};

// In line: every large block of most programs comes this way.
[[gnu::always_inline]] inline bool Placer::place_at_once(uint64_t bytes, plat_stream stream, void** address) {
  if (bytes - 1 >= kLargestRequest || backing_.is_full()) return false;
  const ReadyCache& ready = ready_cache;
  Zone& zone = ready.own_zone != nullptr && ready.key == caches_.key() && bytes <= kMostOfThread
                   ? *ready.own_zone
                   : zones_.large();
  const uint32_t granules = shape_.granules_of(bytes);
  if (stream != nullptr) return place_on_stream(zone, granules, bytes, stream, address);
  {
    if (!zone.lock().try_lock()) return false;
    const std::lock_guard guard(zone.lock(), std::adopt_lock);
    if (zone.is_asleep() || !fast_.is_open_for_large()) return false;
    const core::RangeId block = zone.heap().allocate_idle(granules);
    if (block == core::kNoBlock) return false;
    *address = zone.open(block, bytes);
  }
  zones_.note_peak(zone);
  return true;
}

}  // namespace plat::pool
