// SPDX-License-Identifier: Apache-2.0
// Backing: the memory behind the addresses of a pool. Pages, or whole chunks where the source has no pages,
// come from the device, move to where they are needed, and go back. It knows the limits, and keeps what is
// held but mapped nowhere.
//
// Everything here needs the family's growth lock, unless it says otherwise; the locks of zones are taken
// inside, two at most.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/range_heap.h"
#include "pool/family.h"
#include "pool/source.h"
#include "pool/zones.h"

namespace plat::pool {

// Who wants to know of addresses that come and go.
class SpaceWatcher {
 public:
  virtual ~SpaceWatcher() = default;
  virtual void space_added(Space& space) = 0;
  virtual void space_removed(Space& space) = 0;
};

class Backing {
 public:
  Backing(const plat_pool_options& options, Source& source, Family& family, Zones& zones, SpaceIndex& index,
          SpaceWatcher& watcher)
      : options_(options),
        source_(source),
        family_(family),
        zones_(zones),
        index_(index),
        watcher_(watcher) {}

  Source& source() const { return source_; }
  // Without the lock, these two are estimates, and relaxed: they show no other memory. Who decides by them
  // how much to take from the device has the lock, which orders them; for others an old value means a block
  // that goes where it fits best although pages are short, or an idle page that goes back too soon or too
  // late.
  uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  // Whether the device has refused a page since anything was given back: then pages are short.
  bool is_full() const { return full_at_.load(std::memory_order_relaxed) != UINT64_MAX; }
  // Whether a block of that length goes where it spares the most pages rather than where it fits best.
  bool is_tight(const Zone& zone, uint32_t granules) const;
  // The device may have memory again.
  void ask_again() { full_at_ = UINT64_MAX; }

  // A live block in the zone, whatever has to be brought in or moved for it. Takes the zone's lock.
  Outcome place(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain, core::RangeId* block);
  // Pages that are mapped nowhere: idle ones, new ones, then ones that lie free in zones. All or none.
  Outcome take_pages(size_t count, std::vector<void*>& pages);
  // The same, but idle and new ones alone, up to the limit; what was had is in `pages`.
  Outcome take_fresh(size_t count, std::vector<void*>& pages) {
    return create_pages(count, hard_limit_pages(), pages);
  }
  void keep_pages(std::vector<void*>& pages);
  // All wholly free pages of a zone, whose lock is held, are kept for others.
  bool empty(Zone& zone) { return move_out(zone, core::RangePlan{}, SIZE_MAX, spare_pages_); }
  uint64_t spare_bytes() const { return spare_pages_.size() * kPageBytes; }

  // What nothing lies in goes back until `keep_bytes` are held. False when the device refused to take
  // something back; it stays, is counted, and is tried again next time.
  bool trim(uint64_t keep_bytes);
  // The same of pages that are mapped nowhere.
  bool trim_spare(uint64_t keep_bytes);
  // Everything goes back, live blocks included; asked twice. False when the device did not take all.
  bool close();
  // One page, mapped at the address unless that is null.
  void close_page(void* address, void* page);

  // Without the lock. The peak is the family's.
  void add_stats(plat_pool_stats& stats) const;
  bool shares_device(const Backing& other) const;
  void note_unmapped(uint64_t pages) { unmaps_ += pages; }

  // Pages on their way somewhere: those that do not get there, whatever goes wrong, are kept.
  class Travelling {
   public:
    Travelling(Backing& backing, size_t count) : kept_(backing.spare_pages_) {
      kept_.reserve(kept_.size() + count);
      pages.reserve(count);
    }
    ~Travelling() { kept_.insert(kept_.end(), pages.begin(), pages.end()); }
    Travelling(const Travelling&) = delete;
    Travelling& operator=(const Travelling&) = delete;
    std::vector<void*> pages;

   private:
    std::vector<void*>& kept_;
  };

 private:
  uint64_t room_bytes() const;
  uint64_t hard_limit_pages() const;
  uint64_t soft_limit_pages() const;
  void note_held();
  uint64_t range_bytes(const Zone& zone, uint64_t need) const;
  Outcome add_range(Zone& zone, uint32_t granules);
  Outcome create_pages(size_t count, uint64_t ceiling, std::vector<void*>& pages);
  Outcome collect_pages(Zone& zone, const core::RangePlan& plan, size_t count, std::vector<void*>& pages);
  bool move_out(Zone& zone, const core::RangePlan& skip, size_t count, std::vector<void*>& pages);
  Outcome map_plan(Zone& zone, const core::RangePlan& plan, std::vector<void*>& pages);

  // chunks.cpp
  Outcome place_in_chunk(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain,
                         core::RangeId* block);
  Outcome add_chunk(Zone& zone, uint64_t bytes, uint64_t need);
  bool drop_chunk(void* base, uint64_t bytes);
  bool trim_chunks(Zone& zone, uint64_t keep_bytes);
  void close_space(Space& space);

  const plat_pool_options& options_;
  Source& source_;
  Family& family_;
  Zones& zones_;
  SpaceIndex& index_;
  SpaceWatcher& watcher_;
  std::vector<void*> spare_pages_;                          // held, but mapped nowhere
  std::vector<std::pair<void*, uint64_t>> refused_chunks_;  // that the device did not take back
  std::atomic<uint64_t> held_bytes_{0};
  std::atomic<uint64_t> full_at_{UINT64_MAX};  // pages held when the device last refused one
  std::atomic<uint64_t> address_bytes_{0};
  std::atomic<uint64_t> maps_{0};
  std::atomic<uint64_t> unmaps_{0};
  std::atomic<uint64_t> remaps_{0};
  std::atomic<uint64_t> most_remaps_{0};
};

}  // namespace plat::pool
