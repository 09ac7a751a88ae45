#include "malloc/segment.h"

#include <algorithm>

namespace plat::memory {

std::optional<Segment> segment_at(DeviceHeap& heap, Va start, uint64_t size_bytes) {
  const auto block = heap.find(start);
  if (!block) return std::nullopt;
  const bool media = block->tag.family == Family::Media || block->tag.family == Family::MediaMpi;
  const uint64_t padding = media ? 32 : heap.vmm().node().product().padding_bytes;
  const uint64_t length = std::min(size_bytes, block->block_bytes + 1);  // more than the block is too much
  return Segment{*block, media ? 128u : 64u, align_up(length, 32) + padding};
}

}  // namespace plat::memory
