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
  const Va chunk{start.load(std::memory_order_relaxed) + uint64_t{first} * kPageBytes};
  if (size_bytes == 0 || va - chunk >= size_bytes) return std::nullopt;
  return Block{chunk, size_bytes, &live_[first], size_bytes};
}

void PoolSegment::open(Va chunk, uint64_t size_bytes) {
  const uint64_t first = page_of(chunk);
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

Pool::Reuse Pool::may_reuse(const Chunk& chunk, const stream::Streams& streams,
                            stream::StreamId stream) const {
  if (chunk.in_use) return Reuse::No;
  if (chunk.stream.value == 0 || chunk.stream == stream) return Reuse::Yes;
  const bool done = streams.has_completed(chunk.stream, chunk.position);
  if (attributes.opportunistic && done) return Reuse::Yes;
  if (attributes.follow_events && !done && streams.runs_after(stream, chunk.stream, chunk.position))
    return Reuse::Yes;
  return attributes.internal_dependencies ? Reuse::AfterWait : Reuse::No;
}

// Joins neighbours of the same segment that are free behind the same work, or behind none.
Pool::Chunks::iterator Pool::merge(Chunks::iterator at) {
  const auto joins = [](const Chunks::value_type& one, const Chunks::value_type& other) {
    return !one.second.in_use && !other.second.in_use && one.second.segment == other.second.segment &&
           one.first + one.second.size_bytes == other.first && one.second.stream == other.second.stream;
  };
  const auto absorb = [&](Chunks::iterator one, Chunks::iterator other) {
    one->second.size_bytes += other->second.size_bytes;
    one->second.position = std::max(one->second.position, other->second.position);
    chunks_.erase(other);
    return one;
  };
  if (at != chunks_.begin() && joins(*std::prev(at), *at)) at = absorb(std::prev(at), at);
  const auto next = std::next(at);
  if (next != chunks_.end() && joins(*at, *next)) at = absorb(at, next);
  return at;
}

// Hands out the chunk, or its first part.
Pool::Allocation Pool::take(Chunks::iterator at, uint64_t size_bytes, const stream::Streams& streams) {
  Chunk& chunk = at->second;
  Allocation allocation{Va{at->first}, ++generations_, false, {}};
  allocation.opens_later = !streams.has_completed(chunk.stream, chunk.position);
  if (allocation.opens_later)
    openings_.emplace(allocation.generation, Opening{allocation.start, size_bytes, chunk.segment});
  if (chunk.size_bytes > size_bytes) {
    Chunk rest = chunk;
    rest.size_bytes -= size_bytes;
    chunks_.emplace(at->first + size_bytes, rest);
    chunk.size_bytes = size_bytes;
  }
  chunk.in_use = true;
  chunk.stream = {};
  chunk.position = 0;
  chunk.generation = allocation.generation;
  used_ += size_bytes;
  used_peak = std::max(used_peak, used_);
  if (!allocation.opens_later) chunk.segment->open(allocation.start, size_bytes);
  return allocation;
}

void Pool::open(uint64_t generation) {
  const auto opening = openings_.extract(generation);
  if (opening.empty()) return;  // freed at once, or gone with its segment
  opening.mapped().segment->open(opening.mapped().start, opening.mapped().size_bytes);
}

Result<Pool::Allocation> Pool::allocate(uint64_t size_bytes, const stream::Streams& streams,
                                        stream::StreamId stream) {
  const uint64_t size = align_up(size_bytes, kPageBytes);
  auto best = chunks_.end();
  auto waiting = chunks_.end();
  for (auto at = chunks_.begin(); at != chunks_.end(); ++at) {
    if (at->second.size_bytes < size) continue;
    const Reuse reuse = may_reuse(at->second, streams, stream);
    auto& choice = reuse == Reuse::Yes ? best : waiting;
    if (reuse != Reuse::No && (choice == chunks_.end() || at->second.size_bytes < choice->second.size_bytes))
      choice = at;
  }
  if (best != chunks_.end()) return take(best, size, streams);
  if (waiting != chunks_.end()) {
    const Wait wait{waiting->second.stream, waiting->second.position};
    Allocation allocation = take(waiting, size, streams);
    allocation.wait = wait;
    return allocation;
  }
  PLAT_ASSIGN(grown, grow(size, streams));
  return take(grown, size, streams);
}

Result<Pool::Chunks::iterator> Pool::grow(uint64_t size_bytes, const stream::Streams& streams) {
  if (size_bytes <= max_bytes_ && reserved_ > max_bytes_ - size_bytes)
    trim(max_bytes_ - size_bytes, true, streams);
  if (size_bytes > max_bytes_ || reserved_ > max_bytes_ - size_bytes)
    return fail(RuleId::PoolExhausted, "size", "asked for {}, the pool holds {} of at most {}, {} in use",
                format_bytes(size_bytes), format_bytes(reserved_), format_bytes(max_bytes_),
                format_bytes(used_));
  // What needs memory comes first: a region that is not in the books would be lost.
  Chunks made;
  made.emplace(0, Chunk{});
  const auto give_back = [this](PoolSegment* taken) { segments_.give_back(taken); };
  std::unique_ptr<PoolSegment, decltype(give_back)> segment(segments_.take(size_bytes), give_back);
  vmm::Vmm::RegionRequest request;
  request.size_bytes = size_bytes;
  request.alignment = kPageBytes;
  request.bank = bank_;
  request.info.attribute = ACL_HBM_MEM_HUGE;
  request.info.purpose = device::Purpose::Pool;
  request.info.location_type = ACL_MEM_LOCATION_TYPE_DEVICE;
  request.info.location_id = bank_;
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
  return chunks_.insert(std::move(node)).position;
}

std::optional<uint64_t> Pool::free(Va va, stream::StreamId stream, stream::Position position) {
  const auto at = chunks_.find(va.value);
  if (at == chunks_.end() || !at->second.in_use) return std::nullopt;
  Chunk& chunk = at->second;
  chunk.in_use = false;
  chunk.stream = stream;
  chunk.position = position;
  used_ -= chunk.size_bytes;
  const uint64_t size_bytes = chunk.size_bytes;
  if (stream.value == 0) {
    openings_.erase(chunk.generation);
    chunk.segment->close(va);
  }
  merge(at);
  return size_bytes;
}

void Pool::expire(Va va) {
  const auto after = chunks_.upper_bound(va.value);
  if (after == chunks_.begin()) return;
  const auto at = std::prev(after);
  if (va.value >= at->first + at->second.size_bytes) return;
  // In use again, by this very chunk or by a neighbour that it became part of, and open already.
  if (at->second.in_use && !openings_.contains(at->second.generation)) return;
  at->second.segment->close(va);
}

void Pool::settle(const stream::Streams& streams) {
  for (auto at = chunks_.begin(); at != chunks_.end();) {
    Chunk& chunk = at->second;
    if (!chunk.in_use && chunk.stream.value != 0 && streams.has_completed(chunk.stream, chunk.position)) {
      chunk.stream = {};
      chunk.position = 0;
    }
    at = std::next(merge(at));
  }
  if (reserved_ > attributes.release_threshold) trim(attributes.release_threshold, false, streams);
}

void Pool::trim(uint64_t keep_bytes, bool below, const stream::Streams& streams) {
  for (auto at = chunks_.begin(); at != chunks_.end() && reserved_ > keep_bytes;) {
    Chunk& chunk = at->second;
    const bool whole = chunk.size_bytes == chunk.segment->pages * kPageBytes;
    const bool idle = !chunk.in_use && streams.has_completed(chunk.stream, chunk.position);
    const bool fits = below || reserved_ - chunk.size_bytes >= keep_bytes;
    // A copy that has not let go yet keeps the segment for the next time.
    if (!whole || !idle || !fits || !vmm_.destroy_region(Va{at->first})) {
      ++at;
      continue;
    }
    reserved_ -= chunk.size_bytes;
    std::erase_if(openings_, [&](const auto& opening) { return opening.second.segment == chunk.segment; });
    segments_.give_back(chunk.segment);
    at = chunks_.erase(at);
  }
}

}  // namespace plat::malloc
