// SPDX-License-Identifier: Apache-2.0
// Walk: the memory behind a pinned range, extent by extent.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/page_table.h"
#include "device/node.h"
#include "vmm/translate.h"

namespace plat::copy {

// Consecutive memory of one bank, all of it written before or none of it.
struct Extent {
  device::Bank* bank = nullptr;
  device::PageId page;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  bool cold = false;  // never written; then one page at most

  std::byte* memory() const { return bank->page_memory(page) + offset; }
};

// Walks a pinned range extent by extent.
class Walk {
 public:
  Walk(const vmm::PinnedRange& range, device::Node& node) : range_(range), node_(node), at_(range.start()) {}

  bool done() const { return left_.size_bytes == 0 && at_ - range_.start() == range_.size_bytes(); }
  // The next extent, at most `limit` bytes of it.
  Extent next(uint64_t limit = UINT64_MAX) {
    if (left_.size_bytes == 0) left_ = find();
    Extent extent = left_;
    extent.size_bytes = std::min(extent.size_bytes, limit);
    const uint64_t end = left_.offset + extent.size_bytes;
    left_.page.value += static_cast<uint32_t>(end / core::kPageBytes);
    left_.offset = end % core::kPageBytes;
    left_.size_bytes -= extent.size_bytes;
    return extent;
  }
  uint64_t available() {
    if (left_.size_bytes == 0) left_ = find();
    return left_.size_bytes;
  }

 private:
  Extent find() {
    const vmm::PinnedRange::Piece piece = range_.piece_at(at_);
    Extent extent{node_.open_bank(piece.bank), piece.page, piece.offset, piece.size_bytes, false};
    extent.cold = !extent.bank->is_committed(piece.page);
    at_ = at_ + piece.size_bytes;
    uint32_t last = piece.page.value;
    while (!extent.cold && at_ - range_.start() < range_.size_bytes()) {
      const vmm::PinnedRange::Piece next = range_.piece_at(at_);
      if (next.bank != piece.bank || next.page.value != last + 1 || !extent.bank->is_committed(next.page))
        break;
      last = next.page.value;
      extent.size_bytes += next.size_bytes;
      at_ = at_ + next.size_bytes;
    }
    return extent;
  }

  const vmm::PinnedRange& range_;
  device::Node& node_;
  Va at_;
  Extent left_;
};

}  // namespace plat::copy
