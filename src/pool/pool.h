// SPDX-License-Identifier: Apache-2.0
// Pool: memory of one source, divided. It puts the parts together and routes a request to them; README.md has
// the picture and the way of a request, docs/architecture.md the locks.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/range_heap_idle.h"
#include "pool/backing.h"
#include "pool/block_shape.h"
#include "pool/caches.h"
#include "pool/fast_path_switch.h"
#include "pool/ladder.h"
#include "pool/placer.h"
#include "pool/recycler.h"
#include "pool/release_policy.h"
#include "pool/reporting.h"
#include "pool/resource.h"
#include "pool/sleeper.h"

namespace plat::pool {

class Pool final : private SpaceWatcher {
 public:
  // A member of the family; what is used counts in `first`, if there is one before it. The fast path is the
  // handle's, or one that nobody looks at.
  Pool(const plat_pool_options& options, std::unique_ptr<Source> source, Family& family, Pool* first,
       FastPath& path);
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Threads and other pools may find it from now on.
  void open();
  // Everything goes back, live blocks included.
  plat_pool_status close();

  // A small block that no thread cache had at hand, or a large one.
  plat_pool_status allocate(const Request& request, void** address);
  // The caller has found that the address is in the space.
  plat_pool_status release(Space& space, void* address, plat_stream stream);
  // What is left of a free once tools have heard of it.
  plat_pool_status release_unheard(Space& space, void* address, plat_stream stream);
  // Large blocks, and small ones that wander between threads, with nothing out of the ordinary. False, and
  // nothing happened, when anything is.
  [[gnu::always_inline]] bool allocate_at_once(uint64_t bytes, plat_stream stream, void** address) {
    return placer_.place_at_once(bytes, stream, address);
  }
  bool allocate_small_at_once(uint64_t bytes, plat_stream stream, void** address) {
    return placer_.place_small_at_once(bytes, stream, address);
  }
  bool release_at_once(void* address, plat_stream stream);

  plat_pool_status use_on(void* address, plat_stream stream);
  plat_pool_status forget_stream(plat_stream stream);
  plat_pool_status resize(void* address, uint64_t bytes);
  plat_pool_status usable(const void* address, uint64_t* bytes, uint64_t* with_tail);
  plat_pool_status name_block(void* address, const char* name);
  // The live block around an address; false when there is none.
  bool find_owner(const void* address, plat_pool_block* block);
  void list_blocks(std::vector<plat_pool_block>& out);
  // What it holds of the device, but for what sleeps and for pages that are mapped nowhere.
  void list_held(std::vector<HeldRange>& out);
  void add_stats(plat_pool_stats& stats);
  // What is used is the peak from now on.
  void reset_peak() { zones_.reset_peak(); }
  void add_tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved);
  void flush_thread() {
    if (options_.thread_cache != 0) caches_.flush_mine();
  }
  // What nobody uses goes back until `keep_bytes` are held; false when the device refused. The growth lock is
  // held.
  bool shrink(uint64_t keep_bytes);
  // The same of everything, after waiting for the streams.
  void give_up_all_idle();
  // Every block is freed. The growth lock is held, and no thread keeps blocks.
  void reset();

  // Pages for a helper that maps them itself (the KV cache). All or none.
  plat_pool_status take_pages(size_t count, std::vector<void*>& pages);
  void give_pages(std::vector<void*>& pages);

  // PLAT_POOL_INVALID, and said, for a stream that never was.
  plat_pool_status check_stream(plat_stream stream);
  Space* space_at(const void* address) const { return index_.find(address); }
  bool is_asleep() const { return zones_.large().is_asleep(); }
  const plat_pool_options& options() const { return options_; }
  const std::string& name() const { return name_; }
  Source& source() const { return *source_; }
  Family& family() { return family_; }
  Backing& backing() { return backing_; }
  Caches& caches() { return caches_; }
  Reporting& reporting() { return reporting_; }
  Sleeper& sleeper() { return sleeper_; }

 private:
  void space_added(Space& space) override;
  void space_removed(Space& space) override { reporting_.space_removed(space); }
  plat_pool_status check(const Request& request) const;
  bool release_small_at_once(void* address, plat_stream stream);
  bool release_on_stream(Space& space, void* address, plat_stream stream);
  plat_pool_block described(const Zone& zone, const Zone::LiveBlock& live) const;

  std::string name_;
  plat_pool_options options_;
  const std::unique_ptr<Source> source_;
  const BlockShape shape_;
  Family& family_;
  Pool* const first_;
  SpaceIndex index_;
  Streams streams_;
  Uses uses_;
  Zones zones_;
  Caches caches_;
  Reporting reporting_;
  FastPathSwitch fast_;
  Backing backing_;
  Recycler recycler_;
  ReleasePolicy policy_;
  Ladder ladder_;
  Placer placer_;
  Sleeper sleeper_;
  bool closed_ = false;
};

[[gnu::always_inline]] inline bool Pool::release_at_once(void* address, plat_stream stream) {
  Space* space = fast_.home();
  if (space == nullptr || !space->contains(address)) {
    if (fast_.path().holds(address)) return release_small_at_once(address, stream);
    space = index_.find(address);
    if (space == nullptr || space->small != nullptr) return false;
  }
  if (stream != nullptr) return release_on_stream(*space, address, stream);
  Zone& zone = *space->zone;
  const std::lock_guard guard(zone.lock());
  const core::RangeId block = zone.close_at(*space, address);
  if (block == core::kNoBlock) return false;
  zone.heap().release_idle(block);
  return true;
}

}  // namespace plat::pool
