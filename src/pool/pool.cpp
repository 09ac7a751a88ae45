// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/text.h"
#include "base/units.h"
#include "pool/messages.h"

namespace plat::pool {

namespace {

plat_pool_options settled(plat_pool_options options, const std::string& name) {
  options.name = name.c_str();
  // A range of the caller's is one piece: its small blocks are placed like large ones; whole pages are large.
  if (options.source == PLAT_POOL_SOURCE_CALLER || options.whole_pages != 0) options.thread_cache = 0;
  return options;
}

// What blocks of whole pages are made of; 0: blocks are cut to size.
uint64_t page_of_blocks(const plat_pool_options& options) {
  if (options.whole_pages == 0) return 0;
  return options.source == PLAT_POOL_SOURCE_HOST ? 4_KiB : kPageBytes;
}

}  // namespace

Pool::Pool(const plat_pool_options& options, std::unique_ptr<Source> source, Family& family, Pool* first,
           FastPath& path)
    : name_(options.name != nullptr ? options.name : "pool"),
      options_(settled(options, name_)),
      source_(std::move(source)),
      shape_(*source_, options.source != PLAT_POOL_SOURCE_CALLER, page_of_blocks(options)),
      family_(family),
      first_(first),
      streams_(source_->events()),
      uses_(source_->events()),
      zones_(index_, first != nullptr ? &first->zones_ : nullptr, options.source == PLAT_POOL_SOURCE_CALLER),
      caches_(next_pool_id(), zones_, streams_, index_),
      reporting_(name_, *source_, index_, uses_),
      fast_(*this, path, options_, shape_.tail(), reporting_, uses_, zones_, caches_),
      backing_(options_, *source_, family_, zones_, index_, *this),
      recycler_(name_, options_, zones_, streams_, uses_, caches_, index_, fast_),
      policy_(options_, family_, zones_, streams_, recycler_, backing_),
      ladder_(*this, name_, options_, family_, zones_, streams_, recycler_, backing_),
      placer_(name_, options_, shape_, zones_, streams_, caches_, index_, fast_, backing_, ladder_),
      sleeper_(name_, family_, zones_, caches_, recycler_, backing_, ladder_, reporting_, fast_) {}

Pool::~Pool() { close(); }

void Pool::open() {
  announce_pool(caches_.id(), *this);
  fast_.refresh();
}

plat_pool_status Pool::close() {
  if (closed_) return PLAT_POOL_OK;
  closed_ = true;
  fast_.close();
  forget_pool(caches_.id());
  uses_.clear();
  sleeper_.close();
  if (backing_.close()) return PLAT_POOL_OK;
  return report(PLAT_POOL_DEVICE, fmt::format("pool {}: is gone, but the device did not take {} back: {}",
                                              name_, format_bytes(backing_.held_bytes()), Source::error()));
}

void Pool::space_added(Space& space) {
  fast_.space_added(space);
  reporting_.space_added(space);
  if (reporting_.listening()) fast_.refresh();
}

plat_pool_status Pool::check(const Request& request) const {
  if (request.bytes == 0 || request.bytes > kLargestRequest) return no_such_size(name_, request.bytes);
  if (request.alignment > kPageBytes || (request.alignment & (request.alignment - 1)) != 0)
    return report(PLAT_POOL_INVALID, fmt::format("pool {}: the alignment {} is no power of two up to 2 MiB",
                                                 name_, request.alignment));
  if (request.tag != 0 && options_.source == PLAT_POOL_SOURCE_CALLER)
    return report(
        PLAT_POOL_UNSUPPORTED,
        fmt::format("pool {}: the caller's range is one piece: tags need a pool over device memory", name_));
  if (request.alignment > source_->largest_alignment())
    return report(
        PLAT_POOL_UNSUPPORTED,
        fmt::format("pool {}: the caller's range starts at a multiple of {}, so no block of it can be "
                    "had at one of {}",
                    name_, source_->largest_alignment(), request.alignment));
  return PLAT_POOL_OK;
}

plat_pool_status Pool::allocate(const Request& request, void** address) {
  *address = nullptr;
  if (const auto status = check(request); status != PLAT_POOL_OK) return status;
  if (uses_.any()) recycler_.collect(false);
  const plat_pool_status status = placer_.place(request, address);
  if (status == PLAT_POOL_OK && reporting_.listening())
    reporting_.block_added(*address, request.bytes, request.tag);
  return status;
}

// The thread's stack was full.
bool Pool::release_small_at_once(void* address, plat_stream stream) {
  const FastPath& path = fast_.path();
  // Both keys may be old, as in FastPath: the spilled blocks are the thread's own.
  if (stream != nullptr || path.key.load(std::memory_order_relaxed) != caches_.key()) return false;
  const uint32_t index = path.class_of_live(address);
  return index != kClasses && caches_.spill(index) && path.push(address, stream);
}

bool Pool::release_on_stream(Space& space, void* address, plat_stream stream) {
  const uint16_t domain = streams_.domain_of(stream);
  if (!Streams::is_domain(domain)) return false;
  Zone& zone = *space.zone;
  const std::lock_guard guard(zone.lock());
  const core::RangeId block = zone.close_at(space, address);
  if (block == core::kNoBlock) return false;
  // The batch is asked for under the lock: who settles it must find the block filed.
  zone.heap().release(block, domain, streams_.join_batch(domain));
  return true;
}

plat_pool_status Pool::release(Space& space, void* address, plat_stream stream) {
  // Before tools hear of it: the block stays what it is.
  if (const auto status = check_stream(stream); status != PLAT_POOL_OK) return status;
  SmallTable::LiveFlag* flag = nullptr;
  if (space.small != nullptr) {
    const uint64_t offset = space.offset_of(address);
    const auto entry = space.small->entry(offset);
    flag = entry ? space.small->find(offset, entry.index()) : nullptr;
    if (flag == nullptr) return unknown_block(name_, address);
    SmallTable::close(*flag);
  } else if (reporting_.listening()) {
    if (uses_.is_waiting(address)) return unknown_block(name_, address);
    std::lock_guard guard(space.zone->lock());
    if (space.zone->find(space, address) == core::kNoBlock) return unknown_block(name_, address);
  }
  try {
    if (reporting_.listening()) {
      const auto freed = reporting_.block_freed(*this, space, address, stream);
      if (freed == Reporting::Freed::kTwice) return unknown_block(name_, address);
      if (freed == Reporting::Freed::kLater) return PLAT_POOL_OK;
    }
    const plat_pool_status status = release_unheard(space, address, stream);
    if (status == PLAT_POOL_DEVICE && flag != nullptr) SmallTable::open(*flag);  // it is not let go
    return status;
  } catch (...) {
    if (flag != nullptr) SmallTable::open(*flag);
    throw;
  }
}

plat_pool_status Pool::release_unheard(Space& space, void* address, plat_stream stream) {
  const Uses::Taken taken = uses_.take_over(address, stream);
  if (taken == Uses::Taken::kTwice) return unknown_block(name_, address);
  if (taken == Uses::Taken::kYes) return PLAT_POOL_OK;
  policy_.before_free();
  const plat_pool_status status = recycler_.put(space, address, stream);
  if (status == PLAT_POOL_OK) policy_.after_free(*space.zone);
  return status;
}

// A companion may not have met a stream that the first pool knows.
plat_pool_status Pool::check_stream(plat_stream stream) {
  const bool good =
      stream == nullptr || streams_.knows(stream) || (first_ != nullptr && first_->streams_.knows(stream));
  return good ? PLAT_POOL_OK : no_such_stream(name_, stream);
}

plat_pool_status Pool::use_on(void* address, plat_stream stream) {
  // Only a live block: a note about anything else would stay for ever.
  if (const auto status = usable(address, nullptr, nullptr); status != PLAT_POOL_OK) return status;
  if (stream == nullptr) return PLAT_POOL_OK;
  if (const auto status = check_stream(stream); status != PLAT_POOL_OK) return status;
  uses_.note(address, stream);
  fast_.refresh();
  return PLAT_POOL_OK;
}

plat_pool_status Pool::forget_stream(plat_stream stream) {
  if (!recycler_.forget(stream))
    return report(PLAT_POOL_DEVICE,
                  fmt::format("pool {}: the stream cannot be waited for, so nothing of it is let go", name_));
  std::lock_guard guard(family_.growth);
  policy_.obey();
  return PLAT_POOL_OK;
}

plat_pool_status Pool::usable(const void* address, uint64_t* bytes, uint64_t* with_tail) {
  Space* const space = index_.find(address);
  if (space == nullptr || uses_.is_waiting(address)) return unknown_block(name_, address);
  Zone& zone = *space->zone;
  std::lock_guard guard(zone.lock());
  uint64_t held = 0;
  if (zone.spans() != nullptr) {
    const auto entry = space->small->entry(space->offset_of(address));
    if (!entry || !space->small->find(space->offset_of(address), entry.index()))
      return unknown_block(name_, address);
    held = class_bytes(entry.index());
  } else {
    const core::RangeId block = zone.find(*space, address);
    if (block == core::kNoBlock) return unknown_block(name_, address);
    held = uint64_t{zone.heap().block(block).size} << core::kGranuleShift;
  }
  if (with_tail != nullptr) *with_tail = held;
  if (bytes != nullptr) *bytes = held - shape_.tail();
  return PLAT_POOL_OK;
}

bool Pool::find_owner(const void* address, plat_pool_block* block) {
  Space* const space = index_.find(address);
  if (space == nullptr) return false;
  Zone& zone = *space->zone;
  const std::lock_guard guard(zone.lock());
  const auto found = zone.block_around(*space, address);
  if (!found || uses_.is_waiting(found->address)) return false;
  *block = described(zone, *found);
  return true;
}

void Pool::list_blocks(std::vector<plat_pool_block>& out) {
  zones_.for_each([&](Zone& zone) {
    std::vector<Zone::LiveBlock> live;
    const std::lock_guard guard(zone.lock());
    for (const auto& space : zone.spaces())
      if (!space->gone) zone.list_live(*space, live);
    for (const Zone::LiveBlock& block : live) out.push_back(described(zone, block));
  });
  std::erase_if(out, [&](const plat_pool_block& block) { return uses_.is_waiting(block.address); });
}

plat_pool_block Pool::described(const Zone& zone, const Zone::LiveBlock& live) const {
  plat_pool_block block;
  block.address = const_cast<char*>(live.address);
  block.bytes = live.bytes - shape_.tail();
  block.with_tail = live.bytes;
  block.tag = zone.tag();
  block.on_host = source_->on_device() ? 0 : 1;
  block.asleep = zone.is_asleep() ? 1 : 0;
  return block;
}

plat_pool_status Pool::resize(void* address, uint64_t bytes) {
  uint64_t held = 0;
  if (const auto status = usable(address, nullptr, &held); status != PLAT_POOL_OK) return status;
  if (bytes == 0) return no_such_size(name_, bytes);
  Space& space = *index_.find(address);
  Zone& zone = *space.zone;
  bool done = zone.spans() != nullptr && shape_.segment_bytes(bytes) <= held;
  if (zone.spans() == nullptr) {
    std::lock_guard guard(zone.lock());
    const core::RangeId block = zone.find(space, address);
    if (block == core::kNoBlock) return unknown_block(name_, address);
    done = zone.resize(block, std::max(shape_.granules_of(bytes), zone.least_granules()), bytes);
  }
  if (!done)
    return report(PLAT_POOL_NO_MEMORY, fmt::format("pool {}: the block at {} cannot have {} where it stands",
                                                   name_, address, format_bytes(bytes)));
  zones_.note_peak(zone);
  if (reporting_.listening()) reporting_.block_resized(space, address, bytes);
  policy_.after_free(zone);
  return PLAT_POOL_OK;
}

plat_pool_status Pool::name_block(void* address, const char* name) {
  if (const auto status = usable(address, nullptr, nullptr); status != PLAT_POOL_OK) return status;
  if (reporting_.listening()) reporting_.block_named(address, name);
  return PLAT_POOL_OK;
}

void Pool::add_stats(plat_pool_stats& stats) {
  zones_.for_each([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    stats.bookkeeping_bytes += zone.heap().bookkeeping_bytes() + zone.table_bytes();
    if (source_->has_pages() && !zone.is_asleep())
      stats.idle_bytes += uint64_t{zone.heap().movable_pages()} * kPageBytes;
    for (uint16_t domain = 1; domain <= streams_.count(); ++domain)
      stats.cached_bytes += zone.heap().free_granules(domain) << core::kGranuleShift;
    uint64_t& held = zone.is_asleep() ? stats.asleep_bytes : stats.used_bytes;
    if (zone.spans() == nullptr) {
      held += zone.used_bytes();
      stats.live_blocks += zone.live_blocks();
      return;
    }
    held += zone.spans()->out_bytes();
    stats.live_blocks += zone.spans()->out_blocks();
    stats.cached_bytes += zone.spans()->deferred_bytes() + zone.spans()->depot_bytes();
    stats.bookkeeping_bytes += zone.spans()->bookkeeping_bytes();
  });
  uint64_t kept_bytes = 0;
  uint64_t kept_blocks = 0;
  caches_.count(kept_bytes, kept_blocks);
  uint64_t& held = zones_.small().is_asleep() ? stats.asleep_bytes : stats.used_bytes;
  stats.cached_bytes += kept_bytes;
  held -= std::min(held, kept_bytes);
  stats.live_blocks -= std::min(stats.live_blocks, kept_blocks);
  {
    std::lock_guard guard(family_.growth);
    stats.idle_bytes += backing_.spare_bytes();
  }
  backing_.add_stats(stats);
  stats.out_of_memory += ladder_.times_exhausted();
  stats.reserved_peak = family_.held_peak;
  stats.used_peak = std::max(zones_.peak(), stats.used_bytes);
}

void Pool::add_tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) {
  zones_.for_each([&](Zone& zone) {
    if (zone.tag() != tag || zone.is_asleep()) return;
    std::lock_guard guard(zone.lock());
    *used += zone.spans() != nullptr ? zone.spans()->out_bytes() : zone.used_bytes();
    *reserved += uint64_t{zone.heap().mapped_pages()} * kPageBytes;
    for (const auto& space : zone.spaces()) *reserved += space->gone ? 0 : space->chunk_bytes;
  });
}

bool Pool::shrink(uint64_t keep_bytes) {
  recycler_.collect_idle();
  return backing_.trim(keep_bytes);
}

void Pool::give_up_all_idle() {
  recycler_.collect(true);
  recycler_.settle(Streams::Effort::kWait);
  recycler_.reclaim_spans();
  backing_.trim(0);
}

void Pool::reset() {
  recycler_.settle(Streams::Effort::kWait);
  if (reporting_.listening()) reporting_.all_freed(zones_);
  zones_.for_each([](Zone& zone) {
    std::lock_guard guard(zone.lock());
    zone.release_all();
  });
  uses_.clear();
  fast_.refresh();
  policy_.obey();
}

plat_pool_status Pool::take_pages(size_t count, std::vector<void*>& pages) {
  if (!source_->has_pages())
    return report(PLAT_POOL_UNSUPPORTED,
                  fmt::format("pool {}: only a pool over mapped pages can do this", name_));
  pages.reserve(pages.size() + count);
  std::vector<void*> got;
  const Outcome outcome = ladder_.gather_pages(count, &got);
  if (outcome != Outcome::kDone)
    return ladder_.short_of(outcome, fmt::format("no {} pages to be had", count));
  pages.insert(pages.end(), got.begin(), got.end());
  return PLAT_POOL_OK;
}

void Pool::give_pages(std::vector<void*>& pages) {
  std::lock_guard guard(family_.growth);
  backing_.keep_pages(pages);
  policy_.obey();
}

}  // namespace plat::pool
