// Segments: pieces that a program cuts from a block, and what each of them must keep.
#pragma once

#include "malloc/device_heap.h"

namespace plat::memory {

struct Segment {
  DeviceHeap::Found block;
  uint64_t alignment = 0;    // of its start, by the family of the block
  uint64_t owned_bytes = 0;  // its length, rounded and padded: operators may touch that much
};

// What a segment of so many bytes must keep; nothing outside of blocks.
std::optional<Segment> segment_at(DeviceHeap& heap, Va start, uint64_t size_bytes);

}  // namespace plat::memory
