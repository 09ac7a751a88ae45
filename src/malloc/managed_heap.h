// SPDX-License-Identifier: Apache-2.0
// ManagedHeap: memory that host and devices use by one address.
//
// It is host memory of the machine, mapped where the driver places such memory, so that both the host and
// copies of any kind reach it. What a program says about it (advice, prefetch) is kept for each page of 2 MiB
// and told when asked; nothing moves, because here all places are equally near.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "acl/acl_rt_managed.h"
#include "core/range_allocator.h"
#include "device/managed_notes.h"
#include "vmm/vmm.h"

namespace plat::malloc {

// Where the driver places managed memory.
inline constexpr uint64_t kManagedStart = 0x90000000000;
inline constexpr uint64_t kManagedBytes = uint64_t{3} << 40;
inline constexpr uint64_t kManagedPageBytes = core::kPageBytes;

class ManagedHeap {
 public:
  using Location = aclrtMemManagedLocation;

  explicit ManagedHeap(vmm::Vmm& vmm);

  // In whole pages.
  Result<Va> allocate(uint64_t size_bytes);
  // Nothing when no managed block starts there. Fails while a copy uses it.
  std::optional<Result<>> free(Va start);
  void free_all();

  // Whether the address lies in a live block. In the window, but in none: the driver knows it is none.
  bool contains(Va va) const;
  static bool is_in_window(Va va) { return va.value - kManagedStart < kManagedBytes; }

  Result<> advise(Va start, uint64_t size_bytes, aclrtMemManagedAdviseType advice, Location location);
  Result<> prefetch(Va start, uint64_t size_bytes, Location location);
  // After fork.
  void abandon_in_child() { notes_.abandon_in_child(); }
  // What all pages of the range have in common, written to `data`.
  Result<> attribute(aclrtMemManagedRangeAttribute attribute, Va start, uint64_t size_bytes,
                     std::span<int32_t> data);

 private:
  struct Page {
    bool read_mostly = false;
    Location preferred{ACL_MEM_LOCATIONTYPE_INVALID, 0};
    Location prefetched{ACL_MEM_LOCATIONTYPE_INVALID, 0};
    std::vector<Location> accessed_by;
  };
  struct Block {
    uint64_t size_bytes = 0;
    bool from_window = false;
    std::vector<Page> pages;
    device::ManagedNote note;
  };
  using Blocks = std::map<uint64_t, Block>;

  Result<std::span<Page>> pages_of(Va start, uint64_t size_bytes);
  Blocks::const_iterator block_around(Va va) const;
  static device::ManagedNote note_of(uint64_t start, const Block& block);
  // Lets those who look on from outside see what has changed.
  void tell();
  void note_change(Va start);

  vmm::Vmm& vmm_;
  mutable std::mutex mutex_;  // guards what follows; before that of the Vmm
  core::RangeAllocator window_;
  Blocks blocks_;
  device::ManagedNotes notes_;
};

}  // namespace plat::malloc
