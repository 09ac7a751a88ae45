// SPDX-License-Identifier: Apache-2.0
// PinnedRange: a range of device addresses that was checked, and cannot be unmapped while it is held.
//
// Taking one needs no lock: each mapping in the range counts its users, and a mapping with users cannot be
// taken down. Nothing is stored for each page; the page table itself is walked again to find the memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "core/page_table.h"
#include "device/config.h"
#include "device/ids.h"
#include "device/node.h"
#include "vmm/vmm.h"

namespace plat::vmm {

class PinnedRange {
 public:
  // All of [start, start + size_bytes) must be mapped, accessible to the device (a physical number; kNone for
  // the owner alone), and inside one allocation if it was allocated as one. `parameter` names it in messages.
  // `where` says whether the pages must be here, or another server's.
  static Result<PinnedRange> take(const AddressSpace& space, Va start, uint64_t size_bytes, uint32_t device,
                                  const char* parameter, PageEntry::Tag where = PageEntry::Mapped);

  PinnedRange() = default;
  PinnedRange(PinnedRange&& other) noexcept
      : space_(other.space_),
        start_(other.start_),
        end_(std::exchange(other.end_, other.start_)),
        block_(std::exchange(other.block_, nullptr)) {}
  PinnedRange& operator=(PinnedRange&& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(start_, other.start_);
    std::swap(end_, other.end_);
    std::swap(block_, other.block_);
    return *this;
  }
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;
  ~PinnedRange() { unpin(end_); }

  Va start() const { return start_; }
  uint64_t size_bytes() const { return end_ - start_; }

  // One page's part of the range, found at `at`, which lies inside.
  struct Piece {
    device::BankId bank;
    device::PageId page;
    uint64_t offset = 0;  // inside the page
    uint64_t size_bytes = 0;
  };
  Piece piece_at(Va at) const {
    const PageEntry entry = space_->entry(at);
    const uint64_t offset = at.value & (core::kPageBytes - 1);
    return {entry.bank(), entry.page(), offset, std::min(core::kPageBytes - offset, end_ - at)};
  }
  // One mapping's part of the range, found at `at`, for memory that has no pages here.
  struct Part {
    const Mapping* mapping = nullptr;
    uint64_t offset = 0;  // inside the mapping
    uint64_t size_bytes = 0;
  };
  Part part_at(Va at) const {
    const Mapping& mapping = space_->live_mapping(space_->entry(at).mapping());
    const uint64_t offset = at.value - mapping.start.load(std::memory_order_relaxed);
    return {&mapping, offset,
            std::min(mapping.size_bytes.load(std::memory_order_relaxed) - offset, end_ - at)};
  }

 private:
  void unpin(Va end);

  const AddressSpace* space_ = nullptr;
  Va start_;
  Va end_;
  BlockUsers* block_ = nullptr;  // that the range lies in, if it counts its users
};

// Counts one more user of a block that was found, unless it is gone by now. Whoever frees it takes the tag
// first and looks at the count then; both are read and written in one order for all threads, so that one of
// the two sees the other.
inline bool pin(const SubBlocks::Block& block) {
  if (block.users == nullptr) return true;
  block.users->counted.fetch_add(1, std::memory_order_seq_cst);
  if (block.tag->load(std::memory_order_seq_cst) == block.tag_value) [[likely]]
    return true;
  block.users->counted.fetch_sub(1, std::memory_order_release);
  return false;
}
inline void unpin(BlockUsers* users) {
  if (users != nullptr) users->counted.fetch_sub(1, std::memory_order_release);
}

// Whether the mapping's memory may be used by the device, or through its owner. Pinned: the bank does not
// change.
inline bool may_access(const Mapping& mapping, uint32_t device) {
  const uint64_t devices = mapping.device_access.load(std::memory_order_acquire);
  const device::BankId owner = mapping.bank();
  const bool owner_may = owner != device::kHostBank && (devices >> owner.value & 1) != 0;
  const bool device_may = device < device::kMaxDevices && (devices >> device & 1) != 0;
  return owner_may || device_may || mapping.host_access.load(std::memory_order_acquire);
}

// PagePin: the same for the common case, a range inside one page: some nanoseconds, and no reasons. What is
// unusual in any way is not pinned, and PinnedRange tells why.
class PagePin {
 public:
  PagePin(const AddressSpace& space, Va start, uint64_t size_bytes, uint32_t device) {
    if (core::kPageBytes - (start.value & (core::kPageBytes - 1)) < size_bytes) return;
    const PageEntry entry = space.entry(start);
    if (entry.tag() != PageEntry::Mapped) return;
    const Mapping& mapping = space.live_mapping(entry.mapping());
    int32_t users = mapping.users.load(std::memory_order_relaxed);  // a guess, which the exchange proves
    if (users < 0 || !mapping.users.compare_exchange_strong(users, users + 1, std::memory_order_acquire))
      return;
    mapping_ = &mapping;
    if (space.entry(start).raw == entry.raw && may_access(mapping, device) && holds(start, size_bytes))
      entry_ = entry;
  }
  PagePin(const PagePin&) = delete;
  PagePin& operator=(const PagePin&) = delete;
  ~PagePin() {
    if (block_) unpin(block_->users);
    if (mapping_ != nullptr) mapping_->users.fetch_sub(1, std::memory_order_release);
  }

  explicit operator bool() const { return entry_.tag() == PageEntry::Mapped; }
  device::BankId bank() const { return entry_.bank(); }
  device::PageId page() const { return entry_.page(); }
  const Mapping& mapping() const { return *mapping_; }
  // The block around the range, where the mapping is cut into blocks.
  const SubBlocks::Block* block() const { return block_ ? &*block_ : nullptr; }

 private:
  bool holds(Va start, uint64_t size_bytes) {
    const SubBlocks* blocks = mapping_->sub_blocks.load(std::memory_order_relaxed);
    if (blocks == nullptr) return true;
    const auto found = blocks->block_at(start);
    if (!found || size_bytes > found->size_bytes - (start - found->start) || !pin(*found)) return false;
    block_ = found;
    return true;
  }

  const Mapping* mapping_ = nullptr;
  PageEntry entry_;
  std::optional<SubBlocks::Block> block_;
};

// What an address that no range can be taken at looks like, for messages: "reserved, but nothing is mapped
// there".
std::string describe(const AddressSpace& space, Va va);

}  // namespace plat::vmm
