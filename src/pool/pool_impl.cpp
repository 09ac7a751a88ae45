#include "pool/pool_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "base/units.h"

namespace plat::pool {

namespace {
// Above this, a block with its tail takes a little more than its payload, in proportion: two halves of a
// freed block then fit into it again, tails included. Without that, programs whose sizes are powers of two
// lose one percent.
constexpr uint64_t kProportionalTail = 1_MiB;
// Blocks up to this size come from a zone of the thread's own once threads get into each other's way.
constexpr uint64_t kShardMax = 1_MiB;
constexpr uint32_t kContentionLimit = 8;
constexpr uint64_t kLargestRequest = 1_TiB;
}  // namespace

Pool::Pool(const plat_pool_options& options)
    : options_(options), name_(options.name != nullptr ? options.name : "pool"), tool_(name_) {
  options_.name = name_.c_str();
}

plat_pool_status Pool::create(const plat_pool_options& options, Pool** out) {
  std::string why;
  auto source = Source::create(options, &why);
  if (source == nullptr) return report(PLAT_POOL_INVALID, fmt::format("plat_pool_create: {}", why));
  return create(options, std::move(source), out);
}

plat_pool_status Pool::create(const plat_pool_options& options, std::unique_ptr<Source> source, Pool** out) {
  std::unique_ptr<Pool> pool(new Pool(options));
  pool->source_ = std::move(source);
  pool->tail_ = pool->source_->tail_bytes();
  // A range of the caller's is one piece: its small blocks are placed like large ones.
  const bool one_piece = options.source == PLAT_POOL_SOURCE_CALLER;
  if (one_piece) pool->options_.thread_cache = 0;
  pool->zones_.push_back(std::make_unique<Zone>(0, false, one_piece));
  pool->large_ = pool->zones_.back().get();
  pool->zones_.push_back(std::make_unique<Zone>(0, true));
  pool->small_ = pool->zones_.back().get();
  pool->id_ = announce_pool(*pool);
  if (options.initial_bytes != 0) {
    void* block = nullptr;
    const plat_pool_status status = pool->allocate(Request{options.initial_bytes}, &block);
    if (status != PLAT_POOL_OK) return status;
    pool->release(block, nullptr);
  }
  pool->refresh_key();
  *out = pool.release();
  return PLAT_POOL_OK;
}

void Pool::refresh_key() {
  if (!small_->spaces().empty() && source_->has_pages() && small_bytes_.load() == 0) {
    const Space& space = *small_->spaces().front();
    small_table_ = space.small.get();
    small_base_ = reinterpret_cast<uint64_t>(space.base);
    small_bytes_ = space.bytes;
  }
  const bool open =
      options_.thread_cache != 0 && !tool_.listening() && shared_count_.load() == 0 && !small_->asleep;
  key_.store(open ? id_ : UINT64_MAX);
  plain_.store(!tool_.listening() && shared_count_.load() == 0 &&
               options_.source != PLAT_POOL_SOURCE_CALLER && options_.release == PLAT_POOL_RELEASE_NEVER);
}

uint32_t Pool::granules_of(uint64_t bytes) const {
  const uint64_t exact = (segment_bytes(bytes) + core::kGranuleBytes - 1) >> core::kGranuleShift;
  if (tail_ == 0 || bytes < kProportionalTail) return static_cast<uint32_t>(exact);
  return static_cast<uint32_t>(std::max(
      exact, ((bytes + core::kGranuleBytes - 1) >> core::kGranuleShift) + bytes / kProportionalTail));
}

plat_pool_status Pool::allocate(const Request& request, void** address) {
  const uint64_t segment = segment_bytes(request.bytes);
  if (segment <= kSmallMax && request.alignment == 0 && request.purpose == PLAT_POOL_COMPUTE &&
      request.tag == 0) [[likely]] {
    const HotLane& hot = hot_lane;
    if (hot.key == key_.load(std::memory_order_relaxed) && hot.stream == request.stream) [[likely]] {
      const uint32_t index = class_of(static_cast<uint32_t>(segment));
      const uint64_t base = small_base_.load(std::memory_order_relaxed);
      void* block = hot.lane->pop(index);
      if (block != nullptr) [[likely]] {
        const uint64_t offset = reinterpret_cast<uint64_t>(block) - base;
        if (offset < small_bytes_.load(std::memory_order_relaxed)) [[likely]]
          small_table_.load(std::memory_order_relaxed)->open(offset, index);
        else
          open_small(block, index);
        *address = block;
        return PLAT_POOL_OK;
      }
    }
  }
  if (segment > kSmallMax && allocate_plain(request, address)) return PLAT_POOL_OK;
  return allocate_slow(request, segment, address);
}

// A large block out of memory that is there, with nobody in the way. False, and nothing happened, when
// anything is out of the ordinary: allocate_slow() looks what.
inline bool Pool::allocate_plain(const Request& request, void** address) {
  if (!plain_.load(std::memory_order_relaxed) || (request.alignment | request.tag) != 0 ||
      request.bytes > kLargestRequest)
    return false;
  const uint16_t domain = streams_.domain_of(request.stream);
  if (domain == UINT16_MAX || device_full_at_.load(std::memory_order_relaxed) != UINT64_MAX) return false;
  Zone& zone = request.bytes > kShardMax ? *large_ : zone_for(request, false);
  if (!zone.lock().try_lock()) return false;
  uint32_t block = core::kNoBlock;
  if (!zone.asleep.load(std::memory_order_relaxed))
    block = zone.heap().allocate(granules_of(request.bytes), 1, domain);
  if (block != core::kNoBlock) *address = zone.open(block, request.bytes);
  zone.lock().unlock();
  if (block == core::kNoBlock) return false;
  note_peak();
  return true;
}

plat_pool_status Pool::allocate_slow(const Request& request, uint64_t segment, void** address) {
  *address = nullptr;
  if (request.bytes == 0 || request.bytes > kLargestRequest)
    return report(PLAT_POOL_INVALID,
                  fmt::format("pool {}: a block of {} bytes cannot be had", name_, request.bytes));
  if (request.alignment > kPageBytes || (request.alignment & (request.alignment - 1)) != 0)
    return report(PLAT_POOL_INVALID, fmt::format("pool {}: the alignment {} is no power of two up to 2 MiB",
                                                 name_, request.alignment));
  const uint16_t domain = streams_.domain_of(request.stream);
  if (domain == UINT16_MAX)
    return report(
        PLAT_POOL_INVALID,
        fmt::format("pool {}: more than {} streams; forget the ones that are gone", name_, Streams::kMax));
  if (shared_count_.load(std::memory_order_relaxed) != 0) drain_shared(false);
  if (segment <= kSmallMax && options_.source != PLAT_POOL_SOURCE_CALLER) {
    uint64_t bytes = segment;
    if (request.purpose == PLAT_POOL_MEDIA || source_->start_alignment() == 128)
      bytes = (bytes + 127) & ~uint64_t{127};
    // A class that is a power of two starts at multiples of itself, since spans start at multiples of theirs.
    if (request.alignment > 64) bytes = std::bit_ceil(std::max(bytes, request.alignment));
    if (bytes <= kSmallMax) {
      uint32_t index = class_of(static_cast<uint32_t>(bytes));
      const bool even = request.purpose == PLAT_POOL_MEDIA || source_->start_alignment() == 128;
      while (even && class_bytes(index) % 128 != 0) ++index;
      return allocate_small(request, index, domain, address);
    }
  }
  return allocate_large(request, domain, address);
}

plat_pool_status Pool::allocate_small(const Request& request, uint32_t index, uint16_t domain,
                                      void** address) {
  Zone& zone = zone_for(request, true);
  const bool cached = options_.thread_cache != 0 && request.tag == 0;
  ThreadCache* cache = cached ? thread_cache_of(*this) : nullptr;
  Lane* lane = cache != nullptr ? lane_of(*cache, request.stream) : nullptr;
  if (lane != nullptr) {
    if (cache->flush_seen != flush_epoch_.load(std::memory_order_relaxed)) flush_cache(*cache);
    *address = lane->pop(index);
  }
  if (*address == nullptr) {
    void* batch[64];
    const uint32_t want = lane != nullptr ? std::max(1u, cache_capacity(index) / 2) : 1;
    for (;;) {
      zone.lock().lock();
      if (zone.asleep) {
        zone.lock().unlock();
        return report(PLAT_POOL_ASLEEP, fmt::format("pool {}: its memory sleeps; wake it first", name_));
      }
      const uint32_t got = zone.spans()->take(index, domain, batch, want);
      if (got != 0) {
        zone.lock().unlock();
        for (uint32_t i = 1; i < got; ++i) lane->push(index, batch[got - i]);
        *address = batch[0];
        break;
      }
      const uint32_t granules = span_bytes(index) >> core::kGranuleShift;
      const uint32_t align = granules;
      // Spans belong to nobody's stream: only memory that is idle becomes one.
      uint32_t block = zone.heap().allocate(granules, align, 0);
      zone.lock().unlock();
      if (block == core::kNoBlock) {
        const plat_pool_status status = grow(zone, granules, align, request, 0, &block);
        if (status != PLAT_POOL_OK) return status;
      }
      std::lock_guard guard(zone.lock());
      Space& space = zone.space_of(zone.heap().block(block).start);
      char* const base = space.address_of(zone.heap().block(block).start);
      const uint32_t span = zone.spans()->add(index, base, block);
      try {
        space.small->add(space.offset_of(base), index, span);
      } catch (...) {
        zone.spans()->drop(span);
        zone.heap().release(block);
        throw;
      }
      zone.open(block, span_bytes(index));
    }
    note_peak();
  }
  open_small(*address, index);
  if (tool_.listening()) {
    Space* space = index_.find(*address);
    tool_.block_added(*space, *address, request.bytes, source_->device());
  }
  return PLAT_POOL_OK;
}

plat_pool_status Pool::allocate_large(const Request& request, uint16_t domain, void** address) {
  Zone& zone = zone_for(request, false);
  const uint32_t granules = std::max(granules_of(request.bytes), zone.least_granules());
  const uint32_t align =
      std::max<uint32_t>(1, static_cast<uint32_t>(request.alignment >> core::kGranuleShift));
  if (!zone.lock().try_lock()) {
    if (&zone == large_ && request.bytes <= kShardMax) found_taken();
    zone.lock().lock();
  }
  if (zone.asleep) {
    zone.lock().unlock();
    return report(PLAT_POOL_ASLEEP, fmt::format("pool {}: its memory sleeps; wake it first", name_));
  }
  uint32_t block = core::kNoBlock;
  if (!tightly(zone, granules)) [[likely]]
    block = zone.heap().allocate(granules, align, domain);
  if (block == core::kNoBlock) {
    zone.lock().unlock();
    const plat_pool_status status = grow(zone, granules, align, request, domain, &block);
    if (status != PLAT_POOL_OK) return status;
    zone.lock().lock();
  }
  *address = zone.open(block, request.bytes);
  zone.lock().unlock();
  note_peak();
  if (tool_.listening())
    tool_.block_added(*index_.find(*address), *address, request.bytes, source_->device());
  return PLAT_POOL_OK;
}

void Pool::open_small(const void* address, uint32_t index) {
  Space& space = *index_.find(address);
  space.small->open(space.offset_of(address), index);
}

// A small block leaves its owner; false when it is not live.
bool Pool::close_small(Space& space, const void* address) {
  const uint64_t offset = space.offset_of(address);
  const auto entry = space.small->entry(offset);
  SmallTable::Mark* const mark = entry ? space.small->find(offset, entry.index()) : nullptr;
  if (mark == nullptr) return false;
  SmallTable::close(*mark);
  return true;
}

plat_pool_status Pool::release(void* address, plat_stream stream) {
  // The first space of the small zone holds all small blocks of most programs: one comparison tells whether
  // this is one.
  const uint64_t offset = reinterpret_cast<uint64_t>(address) - small_base_.load(std::memory_order_relaxed);
  if (offset < small_bytes_.load(std::memory_order_relaxed)) [[likely]] {
    const HotLane& hot = hot_lane;
    if (hot.key == key_.load(std::memory_order_relaxed) && hot.stream == stream) [[likely]] {
      const SmallTable& table = *small_table_.load(std::memory_order_relaxed);
      const auto entry = table.entry(offset);
      SmallTable::Mark* const mark = entry ? table.find(offset, entry.index()) : nullptr;
      if (mark != nullptr && hot.lane->push(entry.index(), address)) [[likely]] {
        SmallTable::close(*mark);
        return PLAT_POOL_OK;
      }
    }
  }
  if (release_plain(address, stream)) return PLAT_POOL_OK;
  return release_slow(index_.find(address), address, stream);
}

// The same for a free.
inline bool Pool::release_plain(void* address, plat_stream stream) {
  if (!plain_.load(std::memory_order_relaxed)) return false;
  Space* const space = index_.find(address);
  if (space == nullptr || space->small != nullptr) return false;
  const uint16_t domain = streams_.domain_of(stream);
  if (domain == UINT16_MAX) return false;
  const uint32_t batch = domain != 0 ? streams_.mark(domain) : 0;
  Zone& zone = *space->zone;
  std::lock_guard guard(zone.lock());
  const uint32_t block = zone.find(*space, address);
  if (block == core::kNoBlock) return false;
  zone.close(*space, block);
  zone.heap().release(block, domain, batch);
  return true;
}

plat_pool_status Pool::release_slow(Space* space, void* address, plat_stream stream) {
  if (address == nullptr) return PLAT_POOL_OK;
  if (space == nullptr || (space->small != nullptr && !close_small(*space, address))) return unknown(address);
  if (tool_.listening()) tool_.block_removed(address);
  if (shared_count_.load(std::memory_order_relaxed) != 0 && defer_shared(address, stream))
    return PLAT_POOL_OK;
  if (options_.release == PLAT_POOL_RELEASE_IDLE) release_idle();
  const plat_pool_status status = release_now(space, address, stream);
  if (options_.release != PLAT_POOL_RELEASE_NEVER && status == PLAT_POOL_OK) after_release(*space->zone);
  return status;
}

plat_pool_status Pool::release_now(Space* space, void* address, plat_stream stream) {
  const uint16_t domain = streams_.domain_of(stream);
  if (domain == UINT16_MAX)
    return report(
        PLAT_POOL_INVALID,
        fmt::format("pool {}: more than {} streams; forget the ones that are gone", name_, Streams::kMax));
  Zone& zone = *space->zone;
  if (zone.spans() == nullptr) {
    const uint32_t batch = domain != 0 ? streams_.mark(domain) : 0;
    {
      std::lock_guard guard(zone.lock());
      const uint32_t block = zone.find(*space, address);
      if (block == core::kNoBlock) return unknown(address);
      zone.close(*space, block);
      zone.heap().release(block, domain, batch);
    }
    return PLAT_POOL_OK;
  }
  const auto entry = space->small->entry(space->offset_of(address));
  if (!entry) return unknown(address);
  if (options_.thread_cache != 0 && &zone == small_) {
    if (ThreadCache* cache = thread_cache_of(*this)) {
      Lane* lane = lane_of(*cache, stream);
      if (cache->flush_seen != flush_epoch_.load(std::memory_order_relaxed)) flush_cache(*cache);
      if (!lane->push(entry.index(), address)) {
        flush_lane(*lane, entry.index(), (cache_capacity(entry.index()) + 1) / 2);
        lane->push(entry.index(), address);
      }
      return PLAT_POOL_OK;
    }
  }
  std::lock_guard guard(zone.lock());
  return_block(zone, entry.span(), entry.index(), address, domain);
  return PLAT_POOL_OK;
}

plat_pool_status Pool::unknown(const void* address) const {
  return report(
      PLAT_POOL_NOT_OWNED,
      fmt::format(
          "pool {}: {} is no live block of it; it was freed already, or is the middle of one, or another's",
          name_, address));
}

Zone& Pool::zone_for(const Request& request, bool small) {
  if (request.tag != 0) return *tag_zone(request.tag, small);
  if (small) return *small_;
  if (request.bytes > kShardMax || options_.thread_cache == 0 || !source_->has_pages()) return *large_;
  // One zone packs best. Only a thread that keeps finding it taken gets one of its own.
  HotLane& hot = hot_lane;
  if (hot.key != id_) lane_of(*thread_cache_of(*this), request.stream);
  if (hot.shard == nullptr) return *large_;
  return *hot.shard;
}

void Pool::found_taken() {
  if (options_.thread_cache == 0 || !source_->has_pages()) return;
  ThreadCache& cache = *thread_cache_of(*this);
  if (cache.shard == 0 && ++cache.contention >= kContentionLimit) hot_lane.shard = own_shard(cache);
}

Zone* Pool::own_shard(ThreadCache& cache) {
  std::lock_guard guard(zones_mutex_);
  std::array<uint32_t, 16> users{};
  {
    std::lock_guard caches(caches_mutex_);
    for (const ThreadCache* other : caches_)
      if (other->shard != 0) ++users[other->shard - 1];
  }
  const auto least = static_cast<uint32_t>(std::min_element(users.begin(), users.end()) - users.begin());
  if (shards_[least].load(std::memory_order_relaxed) == nullptr) {
    zones_.push_back(std::make_unique<Zone>(0, false));
    shards_[least].store(zones_.back().get(), std::memory_order_release);
  }
  cache.shard = least + 1;
  return shards_[least].load(std::memory_order_relaxed);
}

Zone* Pool::tag_zone(uint16_t tag, bool small) {
  std::lock_guard guard(zones_mutex_);
  Zone*& zone = tags_[(uint32_t{tag} << 1) | small];
  if (zone == nullptr) {
    zones_.push_back(std::make_unique<Zone>(tag, small, options_.source == PLAT_POOL_SOURCE_CALLER));
    zone = zones_.back().get();
  }
  return zone;
}

void Pool::for_zones(const std::function<void(Zone&)>& visit) {
  std::vector<Zone*> zones;
  {
    std::lock_guard guard(zones_mutex_);
    for (auto& zone : zones_) zones.push_back(zone.get());
  }
  for (Zone* zone : zones) visit(*zone);
}

}  // namespace plat::pool
