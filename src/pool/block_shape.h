// SPDX-License-Identifier: Apache-2.0
// BlockShape: what a block takes: its bytes with the tail that the owner's rule gives it, in granules of a
// heap or as a class of small blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/units.h"
#include "core/range_block.h"
#include "pool/resource.h"
#include "pool/size_class.h"
#include "pool/source.h"

namespace plat::pool {

class BlockShape {
 public:
  // No class: the block is a large one.
  static constexpr uint32_t kLarge = kClasses;

  // Of whole pages if `page_bytes` is not 0: spaces start at pages, so every block starts at one too.
  BlockShape(const Source& source, bool has_small, uint64_t page_bytes)
      : tail_(source.tail_bytes()),
        even_(source.start_alignment() == 128),
        has_small_(has_small && page_bytes == 0),
        round_(tail_ != 0 && page_bytes == 0 ? kRoundSize - 1 : UINT64_MAX),
        page_mask_(page_bytes == 0 ? 0 : static_cast<uint32_t>(page_bytes >> core::kGranuleShift) - 1) {}

  uint32_t tail() const { return tail_; }
  uint64_t segment_bytes(uint64_t bytes) const { return ((bytes + 31) & ~uint64_t{31}) + tail_; }
  // Without a branch but for the tail: sizes are what nobody can guess.
  uint32_t granules_of(uint64_t bytes) const {
    uint64_t granules = (segment_bytes(bytes) + core::kGranuleBytes - 1) >> core::kGranuleShift;
    const uint64_t proportional = (bytes >> core::kGranuleShift) + bytes / kProportionalTail;
    granules = std::max(granules, (bytes & round_) == 0 ? proportional : 0);
    return static_cast<uint32_t>((granules + page_mask_) & ~uint64_t{page_mask_});
  }
  uint32_t class_of(const Request& request) const {
    uint64_t bytes = segment_bytes(request.bytes);
    if (bytes > kSmallMax || !has_small_) return kLarge;
    const bool even = even_ || request.purpose == PLAT_POOL_MEDIA;
    if (even) bytes = (bytes + 127) & ~uint64_t{127};
    // A class that is a power of two starts at multiples of itself, since spans start at multiples of theirs.
    if (request.alignment > 64) bytes = std::bit_ceil(std::max(bytes, request.alignment));
    if (bytes > kSmallMax) return kLarge;
    uint32_t index = class_at(static_cast<uint32_t>(bytes) - 1);
    while (even && class_bytes(index) % 128 != 0) ++index;
    return index;
  }

 private:
  // Above this, a block with its tail takes a little more than its payload, in proportion: two halves of a
  // freed block then fit into it again, tails included. Without that, programs whose sizes are powers of two
  // lose one percent.
  static constexpr uint64_t kProportionalTail = 1_MiB;
  // Other sizes than multiples of this leave room for the tail as they are: programs that cut a page to the
  // byte get what they counted on.
  static constexpr uint64_t kRoundSize = 4_KiB;

  const uint32_t tail_;
  const bool even_;           // every start is a multiple of 128
  const bool has_small_;      // else small blocks are placed like large ones
  const uint64_t round_;      // no bit of it is in a size whose tail is in proportion
  const uint32_t page_mask_;  // 0: blocks are cut to size
};

}  // namespace plat::pool
