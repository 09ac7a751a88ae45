// SPDX-License-Identifier: Apache-2.0
#include "pool/zone.h"

#include <algorithm>
#include <utility>

namespace plat::pool {

// The smallest that is gone and was long enough.
Space* Zone::gone_space(uint64_t bytes) const {
  Space* best = nullptr;
  for (const auto& space : spaces_)
    if (space->gone && space->most_bytes >= bytes &&
        (best == nullptr || space->most_bytes < best->most_bytes))
      best = space.get();
  return best;
}

Space* Zone::revive(Space& space, char* base, uint64_t bytes) {
  heap_.revive(space.first_block, static_cast<uint32_t>(bytes >> core::kGranuleShift));
  space.base = base;
  space.bytes = bytes;
  space.gone = false;
  space.tool_heap = nullptr;
  return &space;
}

Space* Zone::add_space(char* base, uint64_t bytes, bool backed) {
  // One that is far too long is kept for what needs it, while there are places for another.
  Space* const gone = backed ? gone_space(bytes) : nullptr;
  if (gone != nullptr && gone->most_bytes / 2 <= bytes) return revive(*gone, base, bytes);
  // What may fail comes before the heap knows of the addresses: it must find a space for each.
  auto space = std::make_unique<Space>(this, base, bytes, slice_shift_, spans_ != nullptr, !backed);
  spaces_.reserve(spaces_.size() + 1);
  space->first_granule = heap_.append(static_cast<uint32_t>(bytes >> core::kGranuleShift), backed);
  if (space->first_granule == UINT32_MAX) return gone != nullptr ? revive(*gone, base, bytes) : nullptr;
  space->first_block = heap_.newest();
  spaces_.push_back(std::move(space));
  return newest_ = spaces_.back().get();
}

Space& Zone::search(uint32_t granule) const {
  auto after =
      std::upper_bound(spaces_.begin(), spaces_.end(), granule,
                       [](uint32_t value, const auto& space) { return value < space->first_granule; });
  return **(after - 1);
}

void Zone::cut_span(uint32_t index, core::RangeId block) {
  Space& space = space_of(heap_.block(block).start);
  char* const base = space.address_of(heap_.block(block).start);
  uint32_t span = kNoSpan;
  try {
    span = spans_->add(index, base, block);
    space.small->add(space.offset_of(base), index, span);
  } catch (...) {
    if (span != kNoSpan) spans_->drop(span);
    heap_.release(block);
    throw;
  }
  open(block, span_bytes(index));
}

void Zone::drop_span(uint32_t id) {
  const Span& span = spans_->at(id);
  const core::RangeId block = span.block;
  Space& space = space_of(heap_.block(block).start);
  space.small->remove(space.offset_of(span.base), span.index);
  spans_->drop(id);
  close(space, block);
  heap_.release(block);
}

void Zone::put_back(uint32_t index, void* address, uint16_t domain, Streams& streams) {
  const uint32_t span = index_.span_at(address);
  // The batch is asked for under the lock: who settles it must find the block filed.
  if (domain != 0) return spans_->defer(index, span, address, domain, streams.join_batch(domain));
  bool twice = false;
  const uint32_t empty = spans_->give(span, address, &twice);
  if (empty != kNoSpan) drop_span(empty);
}

void Zone::reclaim_spans() {
  std::vector<SmallBlock> stowed;
  for (uint32_t index = 0; index < kClasses; ++index) {
    stowed.resize(spans_->depot().count(index));
    stowed.resize(spans_->depot().take(index, stowed.data(), static_cast<uint32_t>(stowed.size())));
    for (const SmallBlock& block : stowed) {
      bool twice = false;
      const uint32_t empty = spans_->give(index_.span_at(block.address), block.address, &twice);
      if (empty != kNoSpan) drop_span(empty);
    }
  }
  std::vector<uint32_t> spare;
  spans_->spare(spare);
  for (uint32_t span : spare) drop_span(span);
}

void Zone::settle(uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch) {
  heap_.settle(domain, batch, to, to_batch);
  if (spans_ == nullptr) return;
  std::vector<uint32_t> gone;
  spans_->settle(domain, batch, to, to_batch, gone);
  for (uint32_t span : gone)
    if (spans_->at(span).free == spans_->at(span).total) drop_span(span);
}

void Zone::release_all() {
  if (spans_ != nullptr) {
    std::vector<uint32_t> all;
    spans_->all(all);
    for (uint32_t span : all) drop_span(span);
    spans_->clear();
    return;
  }
  std::vector<core::RangeId> live;
  for (core::RangeId id = heap_.first_block(); id != core::kNoBlock; id = heap_.block(id).next)
    if (heap_.block(id).state == core::BlockState::kLive) live.push_back(id);
  for (const core::RangeId id : live) {
    close(space_of(heap_.block(id).start), id);
    heap_.release(id);
  }
}

void Zone::list_live(const Space& space, std::vector<LiveBlock>& out) const {
  if (spans_ == nullptr) {
    for (core::RangeId id = space.first_block; id != core::kNoBlock; id = heap_.block(id).next) {
      if (!space.contains(address_of(id))) break;
      if (heap_.block(id).state == core::BlockState::kLive) out.push_back(live(id));
    }
    return;
  }
  std::vector<uint32_t> spans;
  spans_->all(spans);
  for (const uint32_t id : spans) {
    const Span& span = spans_->at(id);
    if (!space.contains(span.base)) continue;
    for (uint32_t slot = 0; slot < span.total; ++slot) {
      const char* const address = span.base + uint64_t{slot} * class_bytes(span.index);
      if (space.small->find(space.offset_of(address), span.index))
        out.push_back({address, class_bytes(span.index)});
    }
  }
}

std::optional<Zone::LiveBlock> Zone::block_around(const Space& space, const void* address) const {
  if (space.gone || !space.contains(address)) return std::nullopt;  // it is another by now
  const auto* const inside = static_cast<const char*>(address);
  if (spans_ != nullptr) {
    const auto entry = space.small->entry(space.offset_of(address));
    if (!entry) return std::nullopt;
    const Span& span = spans_->at(entry.span());
    const uint64_t bytes = class_bytes(span.index);
    const char* const start = span.base + static_cast<uint64_t>(inside - span.base) / bytes * bytes;
    if (!space.small->find(space.offset_of(start), span.index)) return std::nullopt;
    return LiveBlock{start, bytes};
  }
  for (core::RangeId id = space.first_block; id != core::kNoBlock; id = heap_.block(id).next) {
    const LiveBlock block = live(id);
    if (block.address > inside || !space.contains(block.address)) break;
    if (inside - block.address < static_cast<int64_t>(block.bytes))
      return heap_.block(id).state == core::BlockState::kLive ? std::optional(block) : std::nullopt;
  }
  return std::nullopt;
}

uint64_t Zone::table_bytes() const {
  uint64_t bytes = 0;
  for (const auto& space : spaces_) {
    // All spaces with pages have them in common: the first counts for all.
    const uint64_t backed = space->pages == nullptr    ? space->bytes
                            : space == spaces_.front() ? heap_.mapped_pages() * kPageBytes
                                                       : 0;
    if (space->gone) continue;
    bytes += space->small != nullptr ? space->small->bookkeeping_bytes(backed)
                                     : (backed >> slice_shift_) * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace plat::pool
