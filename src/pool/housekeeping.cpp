// What a pool does beside allocating: statistics, trimming, settling streams, resize, reset.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "pool/pool_impl.h"

namespace plat::pool {

plat_pool_status Pool::stats(plat_pool_stats* stats) {
  *stats = plat_pool_stats{};
  add_stats(*stats);
  for_companions([&](Pool& companion) { companion.add_stats(*stats); });
  stats->reserved_peak = held_peak_;
  stats->used_peak = std::max(used_peak_.load(), stats->used_bytes);
  return PLAT_POOL_OK;
}

void Pool::add_stats(plat_pool_stats& sum) {
  plat_pool_stats* const stats = &sum;
  for_zones([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    stats->bookkeeping_bytes += zone.heap().bookkeeping_bytes() + zone.table_bytes();
    if (source_->has_pages() && !zone.is_asleep())
      stats->idle_bytes += uint64_t{zone.heap().movable_pages()} * kPageBytes;
    for (uint16_t domain = 1; domain <= streams_.count(); ++domain)
      stats->cached_bytes += zone.heap().free_granules(domain) << core::kGranuleShift;
    uint64_t& held = zone.is_asleep() ? stats->asleep_bytes : stats->used_bytes;
    if (zone.spans() == nullptr) {
      held += zone.used_bytes();
      stats->live_blocks += zone.live_blocks();
      return;
    }
    held += zone.spans()->out_bytes();
    stats->live_blocks += zone.spans()->out_blocks();
    stats->cached_bytes += zone.spans()->deferred_bytes() + zone.spans()->depot_bytes();
    stats->bookkeeping_bytes += zone.spans()->bookkeeping_bytes();
  });
  {
    std::lock_guard guard(caches_mutex_);
    uint64_t& held = small_->is_asleep() ? stats->asleep_bytes : stats->used_bytes;
    for (const ThreadCache* cache : caches_)
      for (const auto& lane : cache->lanes) {
        stats->cached_bytes += lane->cached_bytes();
        held -= std::min(held, lane->cached_bytes());
        stats->live_blocks -= std::min(stats->live_blocks, lane->cached_blocks());
      }
  }
  {
    std::lock_guard guard(growth_);
    stats->idle_bytes += bank_.size() * kPageBytes;
  }
  stats->reserved_bytes += held_bytes_;
  if (!source_->on_device()) stats->host_bytes += held_bytes_;
  stats->maps += maps_;
  stats->unmaps += unmaps_;
  stats->remaps += remaps_;
  stats->most_remaps = std::max(stats->most_remaps, most_remaps_.load());
  stats->out_of_memory += oom_;
  stats->address_bytes += address_bytes_;
}

plat_pool_status Pool::tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) {
  *used = 0;
  *reserved = 0;
  auto add = [&](Pool& pool) {
    pool.for_zones([&](Zone& zone) {
      if (zone.tag() != tag) return;
      std::lock_guard guard(zone.lock());
      if (!zone.is_asleep()) *used += zone.spans() != nullptr ? zone.spans()->out_bytes() : zone.used_bytes();
      if (!zone.is_asleep()) *reserved += uint64_t{zone.heap().mapped_pages()} * kPageBytes;
      for (const auto& space : zone.spaces()) *reserved += space->gone ? 0 : space->chunk_bytes;
    });
  };
  add(*this);
  for_companions(add);
  return PLAT_POOL_OK;
}

std::string Pool::account() {
  uint64_t used = 0;
  uint64_t sleeping = 0;
  uint64_t free = 0;
  uint64_t queued = 0;
  uint64_t movable = 0;
  uint64_t mapped = 0;
  uint64_t blocks = 0;
  for_zones([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    if (zone.is_asleep()) {
      sleeping += zone.used_bytes();
      return;
    }
    mapped += uint64_t{zone.heap().mapped_pages()} * kPageBytes;
    used += zone.used_bytes();
    blocks += zone.live_blocks();
    free += zone.heap().free_granules(0) << core::kGranuleShift;
    movable += uint64_t{zone.heap().movable_pages()} * kPageBytes;
    for (uint16_t domain = 1; domain <= streams_.count(); ++domain)
      queued += zone.heap().free_granules(domain) << core::kGranuleShift;
  });
  const uint64_t held = held_bytes_;
  return fmt::format(
      "holds {}{}: {} in {} live blocks, {} free of which {} in whole pages, {} freed on streams that have "
      "not passed{}{}{}{}",
      format_bytes(held_bytes_),
      options_.limit_bytes != 0 ? " of a limit of " + format_bytes(options_.limit_bytes) : "",
      format_bytes(used), blocks, format_bytes(free), format_bytes(movable), format_bytes(queued),
      source_->has_pages() && held > mapped
          ? fmt::format(", {} in KV caches and in pages that are nowhere", format_bytes(held - mapped))
          : "",
      sleeping != 0 ? fmt::format("; {} sleep beside it", format_bytes(sleeping)) : "",
      options_.max_remaps != 0 ? fmt::format("; pages moved for one request: at most {}", options_.max_remaps)
                               : "",
      family_bytes() != held_bytes_
          ? fmt::format("; with what it keeps for other purposes {}", format_bytes(family_bytes()))
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
    const Streams::Passed passed = streams_.passed(domain, effort);
    if (passed.batch == 0) continue;
    for_zones([&](Zone& zone) { settle_zone(zone, domain, passed.batch, 0, 0); });
    if (passed.gone != nullptr) {
      end_lanes(passed.gone);
      streams_.vacate(domain);
    }
    any = true;
  }
  return any;
}

plat_pool_status Pool::forget_stream(plat_stream stream) {
  if (stream == nullptr) return PLAT_POOL_OK;
  flush_thread();
  plat_pool_status status = PLAT_POOL_OK;
  for_companions([&](Pool& companion) {
    if (status == PLAT_POOL_OK) status = companion.forget_stream(stream);
  });
  if (status != PLAT_POOL_OK) return status;
  uint32_t batch = 0;
  const uint16_t domain = streams_.finish(stream, &batch);
  if (domain == Streams::kTooMany || !forget_uses(stream, domain == 0))
    return report(PLAT_POOL_DEVICE,
                  fmt::format("pool {}: the stream cannot be waited for, so nothing of it is let go", name_));
  end_lanes(stream);
  flush_thread();
  if (domain != 0) {
    // Settled before the domain is another stream's.
    for_zones([&](Zone& zone) { settle_zone(zone, domain, batch, 0, 0); });
    streams_.vacate(domain);
  }
  std::lock_guard guard(growth_);
  obey_release();
  return PLAT_POOL_OK;
}

// Called before each free: allocations since the last one have only lowered what is idle, so this sees every
// low.
void Pool::release_idle() {
  std::lock_guard guard(growth_);
  const uint64_t idle = (movable_pages() + bank_.size()) * kPageBytes;
  const auto now = std::chrono::steady_clock::now();
  if (idle == 0) {  // everything is in use: what this free leaves idle is so from now on
    idle_since_ = now;
    idle_low_bytes_ = UINT64_MAX;
    return;
  }
  idle_low_bytes_ = std::min(idle_low_bytes_, idle);
  if (now - idle_since_ < std::chrono::milliseconds(options_.release_idle_ms)) return;
  if (idle_low_bytes_ != 0) trim_locked(held_bytes_ - idle_low_bytes_);
  idle_since_ = now;
  idle_low_bytes_ = UINT64_MAX;  // until the next look
}

void Pool::after_release(Zone& zone) {
  if (options_.release == PLAT_POOL_RELEASE_IDLE) return;
  if (streams_.count() != 0) {  // what a stream has passed is idle too
    std::lock_guard guard(growth_);
    settle(Streams::Effort::kPoll, nullptr, 0);
  }
  const uint64_t pages = zone.heap().movable_pages();
  if (pages == 0) return;
  if (options_.release == PLAT_POOL_RELEASE_WATERMARK &&
      movable_pages() * kPageBytes <= options_.release_watermark)
    return;
  std::lock_guard guard(growth_);
  obey_release();
}

// growth_ is held. What the policy wants back goes; where time decides, the next free sees to it.
void Pool::obey_release() {
  if (options_.release == PLAT_POOL_RELEASE_NEVER || options_.release == PLAT_POOL_RELEASE_IDLE) return;
  const uint64_t keep = options_.release == PLAT_POOL_RELEASE_NOW ? 0 : options_.release_watermark;
  const uint64_t idle = (movable_pages() + bank_.size()) * kPageBytes;
  if (idle > keep) trim_locked(held_bytes_ - std::min<uint64_t>(held_bytes_, idle - keep));
}

plat_pool_status Pool::trim(uint64_t keep_bytes) {
  flush_thread();
  std::lock_guard guard(growth_);
  bool taken = true;
  auto shrink = [&](Pool& pool) {
    const uint64_t others = family_bytes() - pool.held_bytes_;
    taken = pool.give_up_idle(keep_bytes > others ? keep_bytes - others : 0) && taken;
  };
  shrink(*this);
  for_companions(shrink);
  if (taken) return PLAT_POOL_OK;
  return report(PLAT_POOL_DEVICE,
                fmt::format("pool {}: the device took not everything back: {}", name_, source_->error()));
}

// Gives pages of the bank back until `keep_bytes` are held. False when the device refused one.
bool Pool::drop_bank(uint64_t keep_bytes) {
  while (!bank_.empty() && held_bytes_ > keep_bytes) {
    if (!source_->destroy_page(bank_.back())) return false;
    bank_.pop_back();
    held_bytes_ -= kPageBytes;
  }
  return true;
}

// False when the device refused to take something back; it stays, is counted, and is tried again next time.
bool Pool::trim_locked(uint64_t keep_bytes) {
  bool taken = true;
  if (!source_->has_pages()) {
    for_zones([&](Zone& zone) { taken = trim_chunks(zone, keep_bytes) && taken; });
    return taken;
  }
  taken = drop_bank(keep_bytes);
  for_zones([&](Zone& zone) {
    if (!taken || held_bytes_ <= keep_bytes || zone.is_asleep()) return;
    std::lock_guard guard(zone.lock());
    taken =
        move_out(zone, core::RangePlan{}, (held_bytes_ - keep_bytes + kPageBytes - 1) / kPageBytes, bank_);
    taken = drop_bank(keep_bytes) && taken;
  });
  device_full_at_ = UINT64_MAX;
  return taken;
}

plat_pool_status Pool::usable(const void* address, uint64_t* bytes, uint64_t* with_tail) {
  Space* space = index_.find(address);
  if (space == nullptr) {
    Pool* companion = companion_at(address);
    return companion != nullptr ? companion->usable(address, bytes, with_tail) : unknown(address);
  }
  if (is_deferred(address)) return unknown(address);
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
  if (space == nullptr)
    if (Pool* companion = companion_at(address)) return companion->resize(address, bytes);
  if (space == nullptr || is_deferred(address)) return unknown(address);
  if (bytes == 0)
    return report(PLAT_POOL_INVALID, fmt::format("pool {}: a block of {} bytes cannot be had", name_, bytes));
  Zone& zone = *space->zone;
  bool done = false;
  {
    std::lock_guard guard(zone.lock());
    if (zone.spans() != nullptr) {
      const auto entry = space->small->entry(space->offset_of(address));
      if (!entry || !space->small->find(space->offset_of(address), entry.index())) return unknown(address);
      done = segment_bytes(bytes) <= class_bytes(entry.index());
    } else {
      const uint32_t block = zone.find(*space, address);
      if (block == core::kNoBlock) return unknown(address);
      done = zone.resize(block, std::max(granules_of(bytes), zone.least_granules()), bytes);
    }
  }
  if (done)
    note_peak();
  else
    return report(PLAT_POOL_NO_MEMORY, fmt::format("pool {}: the block at {} cannot have {} where it stands",
                                                   name_, address, format_bytes(bytes)));
  if (tool_.listening()) tell_resized(*space, address, bytes);
  if (options_.release != PLAT_POOL_RELEASE_NEVER) after_release(zone);
  return PLAT_POOL_OK;
}

plat_pool_status Pool::set_oom_callback(plat_pool_oom_callback callback, void* user) {
  std::lock_guard guard(growth_);
  oom_callback_ = callback;
  oom_user_ = user;
  return PLAT_POOL_OK;
}

}  // namespace plat::pool
