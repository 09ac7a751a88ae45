// SPDX-License-Identifier: Apache-2.0
// SmallHeap: blocks in 4 KiB pages on one device, cut from 2 MiB pages that this process holds.
//
// Regions with room are kept in buckets by the longest run of pages they may still have, so that finding one
// takes no longer the more there are. What is free inside the held pages is told to the ledger, which counts
// it as free memory. One empty region is kept, so that a single block that comes and goes costs no system
// call; it is given back when huge pages are short.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/ids.h"
#include "device/ledger.h"
#include "malloc/blocks.h"
#include "vmm/vmm.h"

namespace plat::malloc {

class SmallHeap {
 public:
  SmallHeap(vmm::Vmm& vmm, device::BankId bank) : vmm_(vmm), bank_(bank) {}
  SmallHeap(const SmallHeap&) = delete;
  SmallHeap& operator=(const SmallHeap&) = delete;

  // `info` describes the 2 MiB pages if new ones have to be taken.
  Result<Va> allocate(const BlockTag& tag, const device::BlockInfo& info);
  // Frees the block that starts at `va`: its tag; nothing when there is none. Fails (FreeBusy) while a copy
  // uses it.
  Result<std::optional<BlockTag>> free(Va va);
  // Nothing more is allocated beside the block: another process sees its page, and what is written there.
  void retire(Va va);
  // The block around `va`, of this heap.
  struct Found {
    vmm::SubBlocks::Block block;
    BlockTag tag;
  };
  std::optional<Found> find(Va va);
  // Where the live blocks start.
  std::vector<Va> blocks();
  // Gives back what is held for later. True if there was anything.
  bool release_idle();

 private:
  static constexpr int kBuckets = 10;

  SmallRegion* region_at(Va va) const;
  SmallRegion* find_room(uint32_t pages, const BlockTag& tag, Va& start);
  Result<SmallRegion*> add_region(uint32_t pages, const device::BlockInfo& info);
  bool drop_region(SmallRegion* region);
  void place(SmallRegion* region);
  void unlink(SmallRegion* region);
  void add_free_bytes(int64_t bytes);

  vmm::Vmm& vmm_;
  const device::BankId bank_;
  std::mutex mutex_;  // guards everything below, and the regions; taken before Vmm::mutex_
  std::array<SmallRegion*, kBuckets> buckets_{};
  SmallRegion* idle_ = nullptr;  // empty, and in its bucket
  std::vector<std::unique_ptr<SmallRegion>> regions_;
  std::multimap<uint32_t, SmallRegion*> spare_;  // objects without memory, by page count
};

}  // namespace plat::malloc
