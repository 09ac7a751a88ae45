// SPDX-License-Identifier: Apache-2.0
#include "pool/held.h"

#include <mutex>

#include "pool/pool.h"

namespace plat::pool {

void Zone::list_slots(const Span& span, const Space& space, uint32_t tail, HeldRange& out) const {
  const uint64_t bytes = class_bytes(span.index);
  for (uint32_t slot = 0; slot < span.total; ++slot) {
    const bool lives = space.small->find(space.offset_of(span.base + slot * bytes), span.index) != nullptr;
    out.add({bytes, lives ? bytes - tail : 0, lives ? PartState::kLive : PartState::kFree});
  }
  // What is left when a span is cut is nobody's.
  const uint64_t rest = (uint64_t{heap_.block(span.block).size} << core::kGranuleShift) - span.total * bytes;
  if (rest != 0) out.add({rest, 0, PartState::kFree});
}

void Zone::list_held(const Space& space, uint32_t tail, std::vector<HeldRange>& out) const {
  bool goes_on = false;  // the last range reaches up to this record
  for (core::RangeId id = space.first_block; id != core::kNoBlock; id = heap_.block(id).next) {
    const core::Block& block = heap_.block(id);
    const char* const start = space.address_of(block.start);
    if (!space.contains(start) || block.state == core::BlockState::kFence) break;
    if (block.state == core::BlockState::kHole) {
      goes_on = false;
      continue;
    }
    if (!goes_on) out.push_back({.start = start, .tag = tag_, .has_pages = space.pages != nullptr});
    goes_on = true;
    const uint64_t bytes = uint64_t{block.size} << core::kGranuleShift;
    const bool is_taken = block.state != core::BlockState::kFree;
    if (is_taken && spans_ == nullptr)
      out.back().add({bytes, asked(id), PartState::kLive});
    else if (const auto entry = is_taken ? space.small->entry(space.offset_of(start)) : SmallTable::Entry{})
      list_slots(spans_->at(entry.span()), space, tail, out.back());
    else  // also one that was taken by a thread which is about to cut it into blocks
      out.back().add({bytes, 0, PartState::kFree});
  }
}

void Pool::list_held(std::vector<HeldRange>& out) {
  if (!source_->on_device()) return;
  const size_t before = out.size();
  zones_.for_each([&](Zone& zone) {
    const std::lock_guard guard(zone.lock());
    if (zone.is_asleep()) return;
    for (const auto& space : zone.spaces())
      if (!space->gone) zone.list_held(*space, shape_.tail(), out);
  });
  for (size_t i = before; i < out.size(); ++i) {
    out[i].device = source_->device();
    out[i].pool = name_.c_str();
    if (!uses_.any()) continue;
    const char* at = out[i].start;
    for (HeldPart& part : out[i].parts) {
      if (part.state == PartState::kLive && uses_.is_waiting(at)) part.state = PartState::kWaiting;
      at += part.bytes;
    }
  }
}

}  // namespace plat::pool
