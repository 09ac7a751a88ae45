#include "pool/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

#include "base/text.h"
#include "base/units.h"
#include "pool/messages.h"

namespace plat::pool {

namespace {

// Above this, a block with its tail takes a little more than its payload, in proportion: two halves of a
// freed block then fit into it again, tails included. Without that, programs whose sizes are powers of two
// lose one percent.
constexpr uint64_t kProportionalTail = 1_MiB;
// Other sizes than multiples of this leave room for the tail as they are: programs that cut a page to the
// byte get what they counted on.
constexpr uint64_t kRoundSize = 4_KiB;
// Blocks up to this size come from a zone of the thread's own once threads get into each other's way.
constexpr uint64_t kMostOfThread = 1_MiB;
// No class: the block is a large one.
constexpr uint32_t kLarge = kClasses;

plat_pool_options settled(plat_pool_options options, const std::string& name) {
  options.name = name.c_str();
  // A range of the caller's is one piece: its small blocks are placed like large ones.
  if (options.source == PLAT_POOL_SOURCE_CALLER) options.thread_cache = 0;
  return options;
}

}  // namespace

Pool::Pool(const plat_pool_options& options, std::unique_ptr<Source> source, Family& family, Pool* first,
           FastPath& path)
    : name_(options.name != nullptr ? options.name : "pool"),
      options_(settled(options, name_)),
      source_(std::move(source)),
      tail_(source_->tail_bytes()),
      family_(family),
      first_(first),
      streams_(source_->events()),
      uses_(source_->events()),
      zones_(index_, first != nullptr ? &first->zones_ : nullptr, options.source == PLAT_POOL_SOURCE_CALLER),
      caches_(next_pool_id(), zones_, streams_, index_),
      reporting_(name_, *source_, index_, uses_),
      fast_(path, options_, tail_, reporting_, uses_, zones_, caches_),
      backing_(options_, *source_, family_, zones_, index_, *this),
      recycler_(name_, options_, zones_, streams_, uses_, caches_, index_, fast_),
      policy_(options_, family_, zones_, streams_, recycler_, backing_),
      ladder_(*this, name_, options_, family_, zones_, streams_, recycler_, backing_),
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

// A block's bytes with the tail that the owner's rule gives it, and the granules that hold them.
uint64_t Pool::segment_bytes(uint64_t bytes) const { return ((bytes + 31) & ~uint64_t{31}) + tail_; }

uint32_t Pool::granules_of(uint64_t bytes) const {
  const uint64_t exact = (segment_bytes(bytes) + core::kGranuleBytes - 1) >> core::kGranuleShift;
  if (tail_ == 0 || bytes < kProportionalTail || bytes % kRoundSize != 0) return static_cast<uint32_t>(exact);
  return static_cast<uint32_t>(std::max(
      exact, ((bytes + core::kGranuleBytes - 1) >> core::kGranuleShift) + bytes / kProportionalTail));
}

uint32_t Pool::class_of(const Request& request) const {
  uint64_t bytes = segment_bytes(request.bytes);
  if (bytes > kSmallMax || options_.source == PLAT_POOL_SOURCE_CALLER) return kLarge;
  const bool even = request.purpose == PLAT_POOL_MEDIA || source_->start_alignment() == 128;
  if (even) bytes = (bytes + 127) & ~uint64_t{127};
  // A class that is a power of two starts at multiples of itself, since spans start at multiples of theirs.
  if (request.alignment > 64) bytes = std::bit_ceil(std::max(bytes, request.alignment));
  if (bytes > kSmallMax) return kLarge;
  uint32_t index = class_at(static_cast<uint32_t>(bytes) - 1);
  while (even && class_bytes(index) % 128 != 0) ++index;
  return index;
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
  const uint16_t domain = streams_.domain_of(request.stream);
  if (domain == Streams::kNoStream) return no_such_stream(name_, request.stream);
  if (domain == Streams::kTooMany) return too_many_streams(name_);
  if (uses_.any()) recycler_.collect(false);
  const uint32_t index = class_of(request);
  const plat_pool_status status = index != kLarge ? allocate_small(request, index, domain, address)
                                                  : allocate_large(request, domain, address);
  if (status == PLAT_POOL_OK && reporting_.listening())
    reporting_.block_added(*address, request.bytes, request.tag);
  return status;
}

bool Pool::allocate_at_once(uint64_t bytes, plat_stream stream, void** address) {
  if (!fast_.is_open_for_large() || bytes <= fast_.most_small() || bytes > kLargestRequest) return false;
  const uint16_t domain = streams_.domain_of(stream);
  if (!Streams::is_domain(domain) || backing_.is_full()) return false;
  const ReadyCache& ready = ready_cache;
  Zone& zone = ready.own_zone != nullptr && ready.key == caches_.key() && bytes <= kMostOfThread
                   ? *ready.own_zone
                   : zones_.large();
  std::unique_lock guard(zone.lock(), std::try_to_lock);
  if (!guard || zone.is_asleep()) return false;
  core::RangeHeap& heap = zone.heap();
  const uint32_t granules = granules_of(bytes);
  const uint32_t block = domain == 0 ? heap.allocate_idle(granules) : heap.allocate(granules, 1, domain);
  if (block == core::kNoBlock) return false;
  *address = zone.open(block, bytes);
  guard.unlock();
  zones_.note_peak();
  return true;
}

// Blocks of a class from the zone's spans, one of them for the caller; a new span is cut when there are none.
// Null when the zone has no place for one, or sleeps.
void* Pool::take_small(Zone& zone, uint32_t index, uint16_t domain, StreamCache* cache) {
  std::array<void*, StreamCache::kMost> blocks;
  const uint32_t want = cache != nullptr ? cache_capacity(index) / 2 : 1;
  const uint32_t fresh = cache != nullptr ? cut_count(index) : 1;
  std::unique_lock guard(zone.lock());
  if (zone.is_asleep()) return nullptr;
  uint32_t got = zone.spans()->take(index, domain, blocks.data(), want, fresh);
  if (got == 0) {
    // Spans belong to nobody's stream: only memory that is idle becomes one.
    const uint32_t granules = span_bytes(index) >> core::kGranuleShift;
    const uint32_t block = zone.heap().allocate(granules, granules, 0);
    if (block == core::kNoBlock) return nullptr;
    zone.cut_span(index, block);
    got = zone.spans()->take(index, domain, blocks.data(), want, fresh);
  }
  guard.unlock();
  uint32_t left = got - 1;
  while (left > 0 && cache->push(index, {blocks[left], index_.mark_at(blocks[left], index)})) --left;
  if (left == 0) return blocks[0];
  // Growing may have called the program back, which may have filled the cache.
  guard.lock();
  for (; left > 0; --left) zone.put_back(index, blocks[left], domain, streams_);
  return blocks[0];
}

plat_pool_status Pool::allocate_small(const Request& request, uint32_t index, uint16_t domain,
                                      void** address) {
  Zone& zone = request.tag != 0 ? zones_.of_tag(request.tag, true) : zones_.small();
  const bool cached = options_.thread_cache != 0 && request.tag == 0;
  ThreadCache* const thread = cached ? thread_cache_of(caches_) : nullptr;
  StreamCache* cache = thread != nullptr ? caches_.current(*thread, request.stream) : nullptr;
  if (zone.is_asleep()) return memory_sleeps(name_);
  if (cache != nullptr) *address = cache->pop(index).address;
  if (*address == nullptr) {
    while ((*address = take_small(zone, index, domain, cache)) == nullptr) {
      if (zone.is_asleep()) return memory_sleeps(name_);
      const uint32_t granules = span_bytes(index) >> core::kGranuleShift;
      uint32_t block = core::kNoBlock;
      const auto status = ladder_.place(zone, granules, granules, {request.bytes, 0, request.stream}, &block);
      if (status != PLAT_POOL_OK) return status;
      // The program may have been called back, and may have forgotten the stream.
      if (cache != nullptr) cache = caches_.of_stream(*thread, request.stream);
      std::lock_guard guard(zone.lock());
      zone.cut_span(index, block);
    }
    zones_.note_peak();
  }
  SmallTable::open(*index_.mark_at(*address, index));
  return PLAT_POOL_OK;
}

Zone& Pool::large_zone_for(const Request& request) {
  if (request.tag != 0) return zones_.of_tag(request.tag, false);
  if (request.bytes > kMostOfThread || options_.thread_cache == 0 || !source_->has_pages())
    return zones_.large();
  // One zone packs best. Only a thread that keeps finding it taken gets one of its own.
  Zone* const own = caches_.own_zone(request.stream);
  return own != nullptr ? *own : zones_.large();
}

plat_pool_status Pool::allocate_large(const Request& request, uint16_t domain, void** address) {
  Zone& zone = large_zone_for(request);
  const uint32_t granules = std::max(granules_of(request.bytes), zone.least_granules());
  const uint32_t align =
      std::max<uint32_t>(1, static_cast<uint32_t>(request.alignment >> core::kGranuleShift));
  std::unique_lock guard(zone.lock(), std::try_to_lock);
  if (!guard) {
    if (&zone == &zones_.large() && request.bytes <= kMostOfThread && options_.thread_cache != 0 &&
        source_->has_pages())
      caches_.note_contention();
    guard.lock();
  }
  if (zone.is_asleep()) return memory_sleeps(name_);
  uint32_t block = core::kNoBlock;
  if (!backing_.is_tight(zone, granules)) [[likely]]
    block = zone.heap().allocate(granules, align, domain);
  if (block == core::kNoBlock) {
    guard.unlock();
    const auto status = ladder_.place(zone, granules, align, {request.bytes, domain, request.stream}, &block);
    if (status != PLAT_POOL_OK) return status;
    guard.lock();
  }
  *address = zone.open(block, request.bytes);
  guard.unlock();
  zones_.note_peak();
  return PLAT_POOL_OK;
}

bool Pool::release_at_once(void* address, plat_stream stream) {
  if (!fast_.is_open_for_large()) return false;
  Space* space = fast_.home();
  if (space == nullptr || !space->contains(address)) {
    space = index_.find(address);
    if (space == nullptr || space->small != nullptr) return false;
  }
  const uint16_t domain = streams_.domain_of(stream);
  if (!Streams::is_domain(domain)) return false;
  Zone& zone = *space->zone;
  std::lock_guard guard(zone.lock());
  const uint32_t block = zone.find(*space, address);
  if (block == core::kNoBlock) return false;
  zone.close(*space, block);
  // The batch is asked for under the lock: who settles it must find the block filed.
  domain == 0 ? zone.heap().release_idle(block)
              : zone.heap().release(block, domain, streams_.join_batch(domain));
  return true;
}

plat_pool_status Pool::release(Space& space, void* address, plat_stream stream) {
  // Before tools hear of it: the block stays what it is.
  if (const auto status = check_stream(stream); status != PLAT_POOL_OK) return status;
  SmallTable::Mark* mark = nullptr;
  if (space.small != nullptr) {
    const uint64_t offset = space.offset_of(address);
    const auto entry = space.small->entry(offset);
    mark = entry ? space.small->find(offset, entry.index()) : nullptr;
    if (mark == nullptr) return unknown_block(name_, address);
    SmallTable::close(*mark);
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
    if (status == PLAT_POOL_DEVICE && mark != nullptr) SmallTable::open(*mark);  // it is not let go
    return status;
  } catch (...) {
    if (mark != nullptr) SmallTable::open(*mark);
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
    const uint32_t block = zone.find(*space, address);
    if (block == core::kNoBlock) return unknown_block(name_, address);
    held = uint64_t{zone.heap().block(block).size} << core::kGranuleShift;
  }
  if (with_tail != nullptr) *with_tail = held;
  if (bytes != nullptr) *bytes = held - tail_;
  return PLAT_POOL_OK;
}

plat_pool_status Pool::resize(void* address, uint64_t bytes) {
  uint64_t held = 0;
  if (const auto status = usable(address, nullptr, &held); status != PLAT_POOL_OK) return status;
  if (bytes == 0) return no_such_size(name_, bytes);
  Space& space = *index_.find(address);
  Zone& zone = *space.zone;
  bool done = zone.spans() != nullptr && segment_bytes(bytes) <= held;
  if (zone.spans() == nullptr) {
    std::lock_guard guard(zone.lock());
    const uint32_t block = zone.find(space, address);
    if (block == core::kNoBlock) return unknown_block(name_, address);
    done = zone.resize(block, std::max(granules_of(bytes), zone.least_granules()), bytes);
  }
  if (!done)
    return report(PLAT_POOL_NO_MEMORY, fmt::format("pool {}: the block at {} cannot have {} where it stands",
                                                   name_, address, format_bytes(bytes)));
  zones_.note_peak();
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
