// SPDX-License-Identifier: Apache-2.0
#include "malloc/segment.h"

#include <algorithm>

#include "device/report.h"
#include "malloc/policy.h"
#include "rules/rules.h"

namespace plat::malloc {

namespace {

constexpr uint64_t kPadding = 32;  // but for device memory, where the product decides
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMediaAlignment = 128;

bool is_off(RuleId rule) { return report::severity(rule) == rules::Severity::Off; }

}  // namespace

Segments::Segments(DeviceHeap& devices, const HostHeap& hosts)
    : devices_(devices),
      hosts_(hosts),
      are_checked_(!is_off(RuleId::SegmentStart) || !is_off(RuleId::SegmentRoom)) {}

std::optional<Segment> Segments::at(Va start, uint64_t size_bytes) const {
  Segment segment{{}, 0, kAlignment, kPadding};
  if (const auto block = devices_.find(start)) {
    const bool media = block->tag.family == Family::Media || block->tag.family == Family::MediaMpi;
    segment.block_start = block->start;
    segment.block_bytes = block->block_bytes;
    if (media)
      segment.alignment = kMediaAlignment;
    else
      segment.owned_bytes = devices_.vmm().node().product().padding_bytes;
  } else if (const auto host = hosts_.find(start); host && host->what.allocated) {
    segment.block_start = host->start;
    segment.block_bytes = host->what.size_bytes;
  } else {
    return std::nullopt;
  }
  // More than the block is too much, however much more.
  segment.owned_bytes += align_up(std::min(size_bytes, segment.block_bytes + 1), kRounding);
  return segment;
}

Result<> Segments::check(Va start, uint64_t size_bytes, const char* parameter) const {
  if (!are_checked_) [[likely]]
    return {};
  const auto segment = at(start, size_bytes);
  if (!segment) return {};
  const uint64_t offset = start - segment->block_start;
  PLAT_TRY(report::check_soft(is_aligned(start.value, segment->alignment), RuleId::SegmentStart, parameter,
                              "{:#x}, offset {} of the block of {} bytes at {:#x}, is no multiple of {}",
                              start.value, offset, segment->block_bytes, segment->block_start.value,
                              segment->alignment));
  // A block that was not cut owes nobody anything; not all calls pad what they allocate.
  if (offset == 0 && align_up(size_bytes, kRounding) == segment->block_bytes) return {};
  const uint64_t room = segment->block_bytes - offset;
  return report::check_soft(segment->owned_bytes <= room, RuleId::SegmentRoom, parameter,
                            "a segment of {} bytes at offset {} owns {} bytes, the block of {} bytes at "
                            "{:#x} has {} left there",
                            size_bytes, offset, segment->owned_bytes, segment->block_bytes,
                            segment->block_start.value, room);
}

}  // namespace plat::malloc
