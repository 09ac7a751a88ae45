// SPDX-License-Identifier: Apache-2.0
// Segments: pieces that a program cuts from a block, and what each of them must keep.
//
// The rules are checked only where the user asks for it (PLAT_CHECK=secondary): a device would not notice.
#pragma once

#include <optional>

#include "malloc/device_heap.h"
#include "malloc/host_heap.h"

namespace plat::malloc {

struct Segment {
  Va block_start;
  uint64_t block_bytes = 0;
  uint64_t alignment = 0;    // of its start, by the family of the block
  uint64_t owned_bytes = 0;  // its length, rounded and padded: operators may touch that much
};

class Segments {
 public:
  Segments(DeviceHeap& devices, const HostHeap& hosts);

  bool are_checked() const { return are_checked_; }
  // What a segment of so many bytes must keep; nothing outside of blocks.
  std::optional<Segment> at(Va start, uint64_t size_bytes) const;
  Result<> check(Va start, uint64_t size_bytes, const char* parameter) const;

 private:
  DeviceHeap& devices_;
  const HostHeap& hosts_;
  const bool are_checked_;
};

}  // namespace plat::malloc
