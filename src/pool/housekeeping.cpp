// What a pool does beside allocating: statistics, trimming, settling streams, resize, reset.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "pool/pool_impl.h"

namespace plat::pool {

void Pool::note_peak() {
  // Read without the locks: each is written under one, and a peak that is late by one block is made up by the
  // next.
  const uint64_t used = large_->used_bytes() + small_->used_bytes();
  if (used > used_peak_.load(std::memory_order_relaxed)) {
    uint64_t total = 0;
    for_zones([&](Zone& zone) { total += zone.used_bytes(); });
    used_peak_.store(std::max(total, used_peak_.load()), std::memory_order_relaxed);
  }
}

plat_pool_status Pool::stats(plat_pool_stats* stats) {
  *stats = plat_pool_stats{};
  for_zones([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    stats->bookkeeping_bytes += zone.heap().bookkeeping_bytes() + zone.table_bytes();
    stats->idle_bytes += source_->has_pages() ? uint64_t{zone.heap().movable_pages()} * kPageBytes : 0;
    if (zone.spans() == nullptr) {
      stats->used_bytes += zone.used_bytes();
      stats->live_blocks += zone.live_blocks();
      return;
    }
    stats->used_bytes += zone.spans()->out_bytes();
    stats->live_blocks += zone.spans()->out_blocks();
    stats->cached_bytes += zone.spans()->deferred_bytes() + zone.spans()->depot_bytes();
    stats->bookkeeping_bytes += zone.spans()->bookkeeping_bytes();
  });
  {
    std::lock_guard guard(caches_mutex_);
    for (const ThreadCache* cache : caches_)
      for (const auto& lane : cache->lanes) {
        stats->cached_bytes += lane->cached_bytes();
        stats->used_bytes -= std::min(stats->used_bytes, lane->cached_bytes());
        stats->live_blocks -= std::min(stats->live_blocks, lane->cached_blocks());
      }
  }
  {
    std::lock_guard guard(growth_);
    stats->idle_bytes += bank_.size() * kPageBytes;
  }
  stats->reserved_bytes = held_bytes_;
  stats->reserved_peak = held_peak_;
  stats->used_peak = std::max(used_peak_.load(), stats->used_bytes);
  stats->maps = maps_;
  stats->unmaps = unmaps_;
  stats->remaps = remaps_;
  stats->out_of_memory = oom_;
  stats->address_bytes = address_bytes_;
  return PLAT_POOL_OK;
}

plat_pool_status Pool::tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) {
  *used = 0;
  *reserved = 0;
  for_zones([&](Zone& zone) {
    if (zone.tag() != tag) return;
    std::lock_guard guard(zone.lock());
    *used += zone.spans() != nullptr ? zone.spans()->out_bytes() : zone.used_bytes();
    *reserved += uint64_t{zone.heap().mapped_pages()} * kPageBytes;
  });
  return PLAT_POOL_OK;
}

std::string Pool::account() {
  uint64_t used = 0;
  uint64_t free = 0;
  uint64_t queued = 0;
  uint64_t movable = 0;
  uint64_t blocks = 0;
  for_zones([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    used += zone.used_bytes();
    blocks += zone.live_blocks();
    free += zone.heap().free_granules(0) << core::kGranuleShift;
    movable += uint64_t{zone.heap().movable_pages()} * kPageBytes;
    for (uint16_t domain = 1; domain <= streams_.count(); ++domain)
      queued += zone.heap().free_granules(domain) << core::kGranuleShift;
  });
  return fmt::format(
      "holds {}{}: {} in {} live blocks, {} free of which {} in whole pages, {} freed on streams that have "
      "not passed{}",
      format_bytes(held_bytes_),
      options_.limit_bytes != 0 ? " of a limit of " + format_bytes(options_.limit_bytes) : "",
      format_bytes(used), blocks, format_bytes(free), format_bytes(movable), format_bytes(queued),
      options_.max_remaps != 0 ? fmt::format("; pages moved for one request: at most {}", options_.max_remaps)
                               : "");
}

void Pool::settle_zone(Zone& zone, uint16_t domain, uint32_t batch, uint16_t to, uint32_t to_batch) {
  std::lock_guard guard(zone.lock());
  zone.heap().settle(domain, batch, to, to_batch);
  if (zone.spans() == nullptr) return;
  std::vector<uint32_t> gone;
  zone.spans()->settle(domain, batch, to, to_batch, gone);
  for (uint32_t span : gone)
    if (zone.spans()->at(span).free == zone.spans()->at(span).total) drop_span(zone, span);
}

// Memory of other streams becomes nobody's, or `waiter`'s. Own memory needs it too before its pages can move.
bool Pool::settle(Streams::Effort effort, plat_stream waiter, uint16_t for_domain) {
  bool any = false;
  for (uint16_t domain = 1; domain <= streams_.count(); ++domain) {
    if (waiter != nullptr) {
      if (domain == for_domain) continue;
      const uint32_t batch = streams_.make_wait(domain, waiter);
      if (batch == 0) continue;
      const uint32_t own = streams_.mark(for_domain);
      for_zones([&](Zone& zone) { settle_zone(zone, domain, batch, for_domain, own); });
      any = true;
      continue;
    }
    const uint32_t batch = streams_.passed(domain, effort);
    if (batch == 0) continue;
    for_zones([&](Zone& zone) { settle_zone(zone, domain, batch, 0, 0); });
    any = true;
  }
  return any;
}

plat_pool_status Pool::forget_stream(plat_stream stream) {
  if (stream == nullptr) return PLAT_POOL_OK;
  flush_thread();
  const uint16_t domain = streams_.forget(stream);
  if (domain == 0) return PLAT_POOL_OK;
  for_zones([&](Zone& zone) { settle_zone(zone, domain, UINT32_MAX / 2, 0, 0); });
  return PLAT_POOL_OK;
}

// Called before each free: allocations since the last one have only lowered what is idle, so this sees every
// low.
void Pool::release_idle() {
  std::lock_guard guard(growth_);
  auto idle = [&] { return (movable_pages() + bank_.size()) * kPageBytes; };
  idle_low_bytes_ = std::min(idle_low_bytes_, idle());
  const auto now = std::chrono::steady_clock::now();
  if (now - idle_since_ < std::chrono::milliseconds(options_.release_idle_ms)) return;
  if (idle_low_bytes_ != 0) trim_locked(held_bytes_ - idle_low_bytes_);
  idle_since_ = now;
  idle_low_bytes_ = UINT64_MAX;  // until the next look
}

void Pool::after_release(Zone& zone) {
  if (options_.release == PLAT_POOL_RELEASE_IDLE) return;
  const uint64_t keep = options_.release == PLAT_POOL_RELEASE_NOW ? 0 : options_.release_watermark;
  if (uint64_t{zone.heap().movable_pages()} * kPageBytes <= keep) return;
  std::lock_guard guard(growth_);
  const uint64_t idle = movable_pages() * kPageBytes;
  if (idle > keep) trim_locked(held_bytes_ - (idle - keep));
}

plat_pool_status Pool::trim(uint64_t keep_bytes) {
  flush_thread();
  std::lock_guard guard(growth_);
  settle(Streams::Effort::kPoll, nullptr, 0);
  reclaim_spans();
  trim_locked(keep_bytes);
  return PLAT_POOL_OK;
}

uint64_t Pool::trim_locked(uint64_t keep_bytes) {
  const uint64_t before = held_bytes_;
  if (!source_->has_pages()) {
    for_zones([&](Zone& zone) { trim_blocks(zone, keep_bytes); });
    return before - held_bytes_;
  }
  auto drop_bank = [&] {
    while (!bank_.empty() && held_bytes_ > keep_bytes) {
      source_->destroy_page(bank_.back());
      bank_.pop_back();
      held_bytes_ -= kPageBytes;
    }
  };
  drop_bank();
  for_zones([&](Zone& zone) {
    if (held_bytes_ <= keep_bytes || zone.asleep) return;
    std::lock_guard guard(zone.lock());
    move_out(zone, core::RangePlan{}, (held_bytes_ - keep_bytes + kPageBytes - 1) / kPageBytes, bank_);
    drop_bank();
  });
  device_full_at_ = UINT64_MAX;
  return before - held_bytes_;
}

void Pool::trim_blocks(Zone& zone, uint64_t keep_bytes) {
  std::lock_guard guard(zone.lock());
  for (auto& space : zone.spaces()) {
    if (held_bytes_ <= keep_bytes) return;
    if (space->gone || !zone.heap().retire(space->first_block)) continue;
    index_.remove(space.get());
    tool_.space_removed(*space);
    source_->destroy_block(space->base);
    space->gone = true;
    held_bytes_ -= space->bytes;
    address_bytes_ -= space->bytes;
    ++unmaps_;
  }
}

plat_pool_status Pool::usable(const void* address, uint64_t* bytes, uint64_t* with_tail) {
  Space* space = index_.find(address);
  if (space == nullptr) return unknown(address);
  Zone& zone = *space->zone;
  std::lock_guard guard(zone.lock());
  uint64_t held = 0;
  if (zone.spans() != nullptr) {
    const auto entry = space->small->entry(space->offset_of(address));
    if (!entry || !space->small->find(space->offset_of(address), entry.index())) return unknown(address);
    held = class_bytes(entry.index());
  } else {
    const uint32_t block = zone.find(*space, address);
    if (block == core::kNoBlock) return unknown(address);
    held = uint64_t{zone.heap().block(block).size} << core::kGranuleShift;
  }
  if (with_tail != nullptr) *with_tail = held;
  if (bytes != nullptr) *bytes = held - tail_;
  return PLAT_POOL_OK;
}

plat_pool_status Pool::resize(void* address, uint64_t bytes) {
  Space* space = index_.find(address);
  if (space == nullptr || bytes == 0)
    return space == nullptr ? unknown(address)
                            : report(PLAT_POOL_INVALID, "a block of 0 bytes cannot be had");
  Zone& zone = *space->zone;
  std::lock_guard guard(zone.lock());
  if (zone.spans() != nullptr) {
    const auto entry = space->small->entry(space->offset_of(address));
    if (!entry || !space->small->find(space->offset_of(address), entry.index())) return unknown(address);
    if (segment_bytes(bytes) <= class_bytes(entry.index())) return PLAT_POOL_OK;
  } else {
    const uint32_t block = zone.find(*space, address);
    if (block == core::kNoBlock) return unknown(address);
    const uint64_t asked = zone.asked(block);
    zone.close(*space, block);
    const uint32_t granules = std::max(granules_of(bytes), zone.least_granules());
    const bool done = zone.heap().resize(block, granules, 0);
    zone.open(block, done ? bytes : asked);
    if (done) return PLAT_POOL_OK;
  }
  return report(PLAT_POOL_NO_MEMORY, fmt::format("pool {}: the block at {} cannot have {} where it stands",
                                                 name_, address, format_bytes(bytes)));
}

plat_pool_status Pool::set_oom_callback(plat_pool_oom_callback callback, void* user) {
  std::lock_guard guard(growth_);
  oom_callback_ = callback;
  oom_user_ = user;
  return PLAT_POOL_OK;
}

}  // namespace plat::pool
