// PinnedRange: a range of device addresses that was checked, and cannot be unmapped while it is held.
//
// Taking one needs no lock: each mapping in the range counts its users, and a mapping with users cannot be
// taken down. Nothing is stored for each page; the page table itself is walked again to find the memory.
#pragma once

#include <algorithm>

#include "vmm/vmm.h"

namespace plat::vmm {

class PinnedRange {
 public:
  // All of [start, start + size_bytes) must be mapped, accessible to the device (a physical number; kNone for
  // the owner alone), and inside one allocation if it was allocated as one. `parameter` names it in messages.
  static Result<PinnedRange> take(const AddressSpace& space, Va start, uint64_t size_bytes, uint32_t device,
                                  const char* parameter);

  PinnedRange() = default;
  PinnedRange(PinnedRange&& other) noexcept
      : space_(other.space_), start_(other.start_), end_(std::exchange(other.end_, other.start_)) {}
  PinnedRange& operator=(PinnedRange&& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(start_, other.start_);
    std::swap(end_, other.end_);
    return *this;
  }
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;
  ~PinnedRange() { unpin(end_); }

  Va start() const { return start_; }
  uint64_t size_bytes() const { return end_ - start_; }

  // One page's part of the range, found at `at`, which lies inside.
  struct Piece {
    uint32_t bank = 0;
    uint32_t page = 0;
    uint64_t offset = 0;  // inside the page
    uint64_t size_bytes = 0;
  };
  Piece piece_at(Va at) const {
    const PageEntry entry = space_->entry(at);
    const uint64_t offset = at.value & (core::kPageBytes - 1);
    return {entry.bank(), entry.page(), offset, std::min(core::kPageBytes - offset, end_ - at)};
  }

 private:
  void unpin(Va end);

  const AddressSpace* space_ = nullptr;
  Va start_;
  Va end_;
};

// What an address that no range can be taken at looks like, for messages: "reserved, but nothing is mapped
// there".
std::string describe(const AddressSpace& space, Va va);

}  // namespace plat::vmm
