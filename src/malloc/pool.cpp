// SPDX-License-Identifier: Apache-2.0
#include "malloc/pool.h"

#include "base/text.h"
#include "rules/rules.h"

namespace plat::malloc {

using core::kPageBytes;

std::optional<vmm::SubBlocks::Block> PoolSegment::block_at(Va va) const {
  const uint64_t page = page_of(va);
  if (page >= pages) return std::nullopt;
  const uint32_t first = first_[page].load(std::memory_order_acquire);
  const uint64_t size_bytes = live_[first].load(std::memory_order_acquire);
  const Va stretch{start.load(std::memory_order_relaxed) + uint64_t{first} * kPageBytes};
  if (size_bytes == 0 || va - stretch >= size_bytes) return std::nullopt;
  return Block{stretch, size_bytes, &live_[first], size_bytes};
}

void PoolSegment::open(Va stretch, uint64_t size_bytes) {
  const uint64_t first = page_of(stretch);
  for (uint64_t page = first; page < first + size_bytes / kPageBytes; ++page) {
    live_[page].store(0, std::memory_order_relaxed);
    first_[page].store(static_cast<uint32_t>(first), std::memory_order_release);
  }
  live_[first].store(size_bytes, std::memory_order_release);
}

PoolSegment* SegmentStore::take(uint64_t size_bytes) {
  for (const auto& segment : all_)
    if (segment->is_spare && segment->pages == size_bytes / kPageBytes) {
      segment->is_spare = false;
      return segment.get();
    }
  all_.push_back(std::make_unique<PoolSegment>(size_bytes));
  return all_.back().get();
}

void SegmentStore::give_back(PoolSegment* segment) {
  segment->reset();
  segment->is_spare = true;
}

void PoolSegment::reset() {
  start.store(0, std::memory_order_release);
  for (uint64_t page = 0; page < pages; ++page) live_[page].store(0, std::memory_order_release);
}

Pool::Reuse Pool::may_reuse(const Stretch& stretch, const stream::Streams& streams,
                            stream::StreamId stream) const {
  if (stretch.in_use) return Reuse::No;
  if (stretch.stream.value == 0 || stretch.stream == stream) return Reuse::Yes;
  const bool done = streams.has_completed(stretch.stream, stretch.position);
  if (attributes.opportunistic && done) return Reuse::Yes;
  if (attributes.follow_events && !done && streams.runs_after(stream, stretch.stream, stretch.position))
    return Reuse::Yes;
  return attributes.internal_dependencies ? Reuse::AfterWait : Reuse::No;
}

// Joins neighbours of the same segment that are free behind the same work, or behind none.
Pool::Stretches::iterator Pool::merge(Stretches::iterator at) {
  const auto joins = [](const Stretches::value_type& one, const Stretches::value_type& other) {
    return !one.second.in_use && !other.second.in_use && one.second.segment == other.second.segment &&
           one.first + one.second.size_bytes == other.first && one.second.stream == other.second.stream;
  };
  const auto absorb = [&](Stretches::iterator one, Stretches::iterator other) {
    one->second.size_bytes += other->second.size_bytes;
    one->second.position = std::max(one->second.position, other->second.position);
    stretches_.erase(other);
    return one;
  };
  if (at != stretches_.begin() && joins(*std::prev(at), *at)) at = absorb(std::prev(at), at);
  const auto next = std::next(at);
  if (next != stretches_.end() && joins(*at, *next)) at = absorb(at, next);
  return at;
}

// Hands out the stretch, or its first part.
Pool::Allocation Pool::take(Stretches::iterator at, uint64_t size_bytes, const stream::Streams& streams) {
  Stretch& stretch = at->second;
  Allocation allocation{Va{at->first}, ++generations_, false, {}, {stretch.stream, stretch.position}};
  allocation.opens_later = !streams.has_completed(stretch.stream, stretch.position);
  if (stretch.size_bytes > size_bytes) {
    Stretch rest = stretch;
    rest.size_bytes -= size_bytes;
    stretches_.emplace(at->first + size_bytes, rest);
    stretch.size_bytes = size_bytes;
  }
  if (allocation.opens_later)
    openings_.emplace(allocation.generation, Opening{allocation.start, size_bytes, stretch.segment});
  stretch.in_use = true;
  stretch.stream = {};
  stretch.position = 0;
  stretch.generation = allocation.generation;
  used_ += size_bytes;
  used_peak = std::max(used_peak, used_);
  if (!allocation.opens_later) stretch.segment->open(allocation.start, size_bytes);
  return allocation;
}

bool Pool::undo(const Allocation& allocation) {
  const auto at = stretches_.find(allocation.start.value);
  if (at == stretches_.end() || at->second.generation != allocation.generation || !at->second.in_use)
    return false;
  Stretch& stretch = at->second;
  stretch.in_use = false;
  stretch.stream = allocation.before.stream;
  stretch.position = allocation.before.position;
  used_ -= stretch.size_bytes;
  // One that opens later is still what it was to work that is queued.
  if (openings_.erase(stretch.generation) == 0) stretch.segment->close(allocation.start);
  merge(at);
  return true;
}

void Pool::open(uint64_t generation) {
  const auto opening = openings_.extract(generation);
  if (opening.empty()) return;  // freed at once, or gone with its segment
  opening.mapped().segment->open(opening.mapped().start, opening.mapped().size_bytes);
}

Result<Pool::Allocation> Pool::allocate(uint64_t size_bytes, const stream::Streams& streams,
                                        stream::StreamId stream) {
  const uint64_t size = align_up(size_bytes, kPageBytes);
  auto best = stretches_.end();
  auto waiting = stretches_.end();
  for (auto at = stretches_.begin(); at != stretches_.end(); ++at) {
    if (at->second.size_bytes < size) continue;
    const Reuse reuse = may_reuse(at->second, streams, stream);
    auto& choice = reuse == Reuse::Yes ? best : waiting;
    if (reuse != Reuse::No &&
        (choice == stretches_.end() || at->second.size_bytes < choice->second.size_bytes))
      choice = at;
  }
  if (best != stretches_.end()) return take(best, size, streams);
  if (waiting != stretches_.end()) {
    const Wait wait{waiting->second.stream, waiting->second.position};
    Allocation allocation = take(waiting, size, streams);
    allocation.wait = wait;
    return allocation;
  }
  PLAT_ASSIGN(grown, grow(size, streams));
  return take(grown, size, streams);
}

Result<Pool::Stretches::iterator> Pool::grow(uint64_t size_bytes, const stream::Streams& streams) {
  if (size_bytes <= max_bytes_ && reserved_ > max_bytes_ - size_bytes)
    trim(max_bytes_ - size_bytes, true, streams);
  if (size_bytes > max_bytes_ || reserved_ > max_bytes_ - size_bytes)
    return fail(RuleId::PoolExhausted, "size", "asked for {}, the pool holds {} of at most {}, {} in use",
                format_bytes(size_bytes), format_bytes(reserved_), format_bytes(max_bytes_),
                format_bytes(used_));
  // What needs memory comes first: a region that is not in the books would be lost.
  Stretches made;
  made.emplace(0, Stretch{});
  const auto give_back = [this](PoolSegment* taken) { segments_.give_back(taken); };
  std::unique_ptr<PoolSegment, decltype(give_back)> segment(segments_.take(size_bytes), give_back);
  vmm::Vmm::RegionRequest request;
  request.size_bytes = size_bytes;
  request.alignment = kPageBytes;
  request.bank = bank_;
  request.info.attribute = ACL_HBM_MEM_HUGE;
  request.info.purpose = device::Purpose::Pool;
  request.info.location_type = ACL_MEM_LOCATION_TYPE_DEVICE;
  request.info.location_id = bank_.value;
  request.sub_blocks = segment.get();
  const auto region = vmm_.create_region(request);
  if (!region) return fail(RuleId::PoolExhausted, "size", "{}", region.error().detail);
  segment->start.store(region->start.value);
  reserved_ += size_bytes;
  reserved_peak = std::max(reserved_peak, reserved_);
  auto node = made.extract(made.begin());
  node.key() = region->start.value;
  node.mapped().size_bytes = size_bytes;
  node.mapped().segment = segment.release();
  return stretches_.insert(std::move(node)).position;
}

std::optional<uint64_t> Pool::free(Va va, stream::StreamId stream, stream::Position position) {
  const auto at = stretches_.find(va.value);
  if (at == stretches_.end() || !at->second.in_use) return std::nullopt;
  Stretch& stretch = at->second;
  stretch.in_use = false;
  stretch.stream = stream;
  stretch.position = position;
  used_ -= stretch.size_bytes;
  const uint64_t size_bytes = stretch.size_bytes;
  if (stream.value == 0) {
    openings_.erase(stretch.generation);
    stretch.segment->close(va);
  }
  merge(at);
  return size_bytes;
}

void Pool::expire(Va va) {
  const auto after = stretches_.upper_bound(va.value);
  if (after == stretches_.begin()) return;
  const auto at = std::prev(after);
  if (va.value >= at->first + at->second.size_bytes) return;
  // In use again, by this very stretch or by a neighbour that it became part of, and open already.
  if (at->second.in_use && !openings_.contains(at->second.generation)) return;
  at->second.segment->close(va);
}

void Pool::settle(const stream::Streams& streams) {
  for (auto at = stretches_.begin(); at != stretches_.end();) {
    Stretch& stretch = at->second;
    if (!stretch.in_use && stretch.stream.value != 0 &&
        streams.has_completed(stretch.stream, stretch.position)) {
      stretch.stream = {};
      stretch.position = 0;
    }
    at = std::next(merge(at));
  }
  if (reserved_ > attributes.release_threshold) trim(attributes.release_threshold, false, streams);
}

void Pool::trim(uint64_t keep_bytes, bool below, const stream::Streams& streams) {
  for (auto at = stretches_.begin(); at != stretches_.end() && reserved_ > keep_bytes;) {
    Stretch& stretch = at->second;
    const bool whole = stretch.size_bytes == stretch.segment->pages * kPageBytes;
    const bool idle = !stretch.in_use && streams.has_completed(stretch.stream, stretch.position);
    const bool fits = below || reserved_ - stretch.size_bytes >= keep_bytes;
    // A copy that has not let go yet keeps the segment for the next time.
    if (!whole || !idle || !fits || !vmm_.destroy_region(Va{at->first})) {
      ++at;
      continue;
    }
    reserved_ -= stretch.size_bytes;
    std::erase_if(openings_, [&](const auto& opening) { return opening.second.segment == stretch.segment; });
    segments_.give_back(stretch.segment);
    at = stretches_.erase(at);
  }
}

}  // namespace plat::malloc
