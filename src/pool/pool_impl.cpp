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
// Other sizes than multiples of this leave room for the tail as they are: programs that cut a page to the
// byte get what they counted on.
constexpr uint64_t kRoundSize = 4_KiB;
// Blocks up to this size come from a zone of the thread's own once threads get into each other's way.
constexpr uint64_t kShardMax = 1_MiB;
constexpr uint32_t kContentionLimit = 8;
// How many streams may be forgotten before keys meet those of other pools.
constexpr uint32_t kKeyShift = 32;
}  // namespace

Pool::Pool(const plat_pool_options& options, Pool* root)
    : options_(options),
      name_(options.name != nullptr ? options.name : "pool"),
      tool_(name_),
      root_(root != nullptr ? root : this),
      growth_(root_->own_growth_) {
  options_.name = name_.c_str();
}

plat_pool_status Pool::create(const plat_pool_options& options, Pool** out) {
  std::string why;
  plat_pool_options settled = options;
  auto source = Source::create(settled, &why);
  if (source == nullptr) return report(PLAT_POOL_INVALID, fmt::format("plat_pool_create: {}", why));
  return create(settled, std::move(source), out);
}

plat_pool_status Pool::create(const plat_pool_options& options, std::unique_ptr<Source> source, Pool** out) {
  return create(options, std::move(source), nullptr, out);
}

plat_pool_status Pool::create(const plat_pool_options& options, std::unique_ptr<Source> source, Pool* root,
                              Pool** out) {
  std::unique_ptr<Pool> pool(new Pool(options, root));
  pool->source_ = std::move(source);
  pool->streams_.use(pool->source_->events());
  pool->tail_ = pool->source_->tail_bytes();
  pool->front.tail = pool->tail_;
  pool->front.most = (kSmallMax - std::min(pool->tail_, kSmallMax)) & ~31u;
  // A range of the caller's is one piece: its small blocks are placed like large ones.
  const bool one_piece = options.source == PLAT_POOL_SOURCE_CALLER;
  if (one_piece) pool->options_.thread_cache = 0;
  std::atomic<uint64_t>* const tally = root != nullptr ? &root->elsewhere_ : nullptr;
  pool->zones_.push_back(std::make_unique<Zone>(0, false, one_piece, tally));
  pool->large_ = pool->zones_.back().get();
  pool->zones_.push_back(std::make_unique<Zone>(0, true, false, tally));
  pool->small_ = pool->zones_.back().get();
  pool->id_ = announce_pool(*pool);
  pool->key_ = pool->id_ << kKeyShift;
  if (options.initial_bytes != 0) {
    void* block = nullptr;
    const plat_pool_status status = pool->allocate(Request{options.initial_bytes}, &block);
    if (status != PLAT_POOL_OK) return status;
    pool->release(block, nullptr);
  }
  pool->refresh_front();
  *out = pool.release();
  return PLAT_POOL_OK;
}

void Pool::refresh_front() {
  // Who looks and who opens or closes must be one: else the last to open may have looked before another
  // closed.
  std::lock_guard guard(front_mutex_);
  const bool alone = !tool_.listening() && shared_count_.load() == 0;
  front.key.store(alone && options_.thread_cache != 0 && !small_->is_asleep() ? key_.load() : UINT64_MAX);
  const bool plain =
      alone && options_.source != PLAT_POOL_SOURCE_CALLER && options_.release == PLAT_POOL_RELEASE_NEVER;
  front.plain.store(plain ? this : nullptr);
}

uint32_t Pool::granules_of(uint64_t bytes) const {
  const uint64_t exact = (segment_bytes(bytes) + core::kGranuleBytes - 1) >> core::kGranuleShift;
  if (tail_ == 0 || bytes < kProportionalTail || bytes % kRoundSize != 0) return static_cast<uint32_t>(exact);
  return static_cast<uint32_t>(std::max(
      exact, ((bytes + core::kGranuleBytes - 1) >> core::kGranuleShift) + bytes / kProportionalTail));
}

plat_pool_status Pool::allocate(const Request& request, void** address) {
  if ((request.alignment | request.tag) == 0 && request.purpose == PLAT_POOL_COMPUTE) {
    *address = front.pop(request.bytes, request.stream);
    if (*address != nullptr) return PLAT_POOL_OK;
    if (front.plain.load(std::memory_order_relaxed) != nullptr &&
        allocate_plain(request.bytes, request.stream, address))
      return PLAT_POOL_OK;
  }
  return allocate_slow(request, segment_bytes(request.bytes), address);
}

bool Pool::allocate_plain(uint64_t bytes, plat_stream stream, void** address) {
  if (bytes <= front.most || bytes > kLargestRequest) return false;
  const uint16_t domain = streams_.domain_of(stream);
  if (!Streams::is_domain(domain) || device_full_at_.load(std::memory_order_relaxed) != UINT64_MAX)
    return false;
  const HotLane& hot = hot_lane;
  Zone& zone = hot.shard != nullptr && hot.key == key_.load(std::memory_order_relaxed) && bytes <= kShardMax
                   ? *hot.shard
                   : *large_;
  std::unique_lock guard(zone.lock(), std::try_to_lock);
  if (!guard || zone.is_asleep()) return false;
  core::RangeHeap& heap = zone.heap();
  const uint32_t granules = granules_of(bytes);
  const uint32_t block = domain == 0 ? heap.allocate_idle(granules) : heap.allocate(granules, 1, domain);
  if (block == core::kNoBlock) return false;
  *address = zone.open(block, bytes);
  guard.unlock();
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
  if (!serves(request.purpose)) return allocate_elsewhere(request, address);
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
  const uint16_t domain = streams_.domain_of(request.stream);
  if (domain == Streams::kNoStream) return no_stream(request.stream);
  if (domain == Streams::kTooMany)
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
      uint32_t index = class_at(static_cast<uint32_t>(bytes) - 1);
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
  Lane* lane = cache != nullptr ? fresh_lane(*cache, request.stream) : nullptr;
  if (zone.is_asleep()) return asleep();
  if (lane != nullptr) *address = lane->pop(index).address;
  if (*address == nullptr) {
    void* batch[64];
    const uint32_t want = lane != nullptr ? cache_capacity(index) / 2 : 1;
    const uint32_t fresh = lane != nullptr ? cut_count(index) : 1;
    for (;;) {
      std::unique_lock guard(zone.lock());
      if (zone.is_asleep()) return asleep();
      const uint32_t got = zone.spans()->take(index, domain, batch, want, fresh);
      if (got != 0) {
        guard.unlock();
        *address = batch[0];
        uint32_t left = got - 1;
        while (left > 0 && lane->push(index, {batch[left], mark_of(batch[left], index)})) --left;
        // Growing may have called the program back, which may have filled the lane.
        if (left == 0) break;
        guard.lock();
        for (; left > 0; --left) return_block(zone, span_of(batch[left]), index, batch[left], domain);
        break;
      }
      const uint32_t granules = span_bytes(index) >> core::kGranuleShift;
      const uint32_t align = granules;
      // Spans belong to nobody's stream: only memory that is idle becomes one.
      uint32_t block = zone.heap().allocate(granules, align, 0);
      if (block == core::kNoBlock) {
        guard.unlock();
        const plat_pool_status status = grow(zone, granules, align, request, 0, &block);
        if (status != PLAT_POOL_OK) return status;
        // The program may have been called back, and may have forgotten the stream.
        if (lane != nullptr) lane = lane_of(*cache, request.stream);
        guard.lock();
      }
      Space& space = zone.space_of(zone.heap().block(block).start);
      char* const base = space.address_of(zone.heap().block(block).start);
      uint32_t span = kNoSpan;
      try {
        span = zone.spans()->add(index, base, block);
        space.small->add(space.offset_of(base), index, span);
      } catch (...) {
        if (span != kNoSpan) zone.spans()->drop(span);
        zone.heap().release(block);
        throw;
      }
      zone.open(block, span_bytes(index));
    }
    note_peak();
  }
  SmallTable::open(*mark_of(*address, index));
  if (tool_.listening()) tell_added(*address, request.bytes, request.tag);
  return PLAT_POOL_OK;
}

plat_pool_status Pool::allocate_large(const Request& request, uint16_t domain, void** address) {
  Zone& zone = zone_for(request, false);
  const uint32_t granules = std::max(granules_of(request.bytes), zone.least_granules());
  const uint32_t align =
      std::max<uint32_t>(1, static_cast<uint32_t>(request.alignment >> core::kGranuleShift));
  std::unique_lock guard(zone.lock(), std::try_to_lock);
  if (!guard) {
    if (&zone == large_ && request.bytes <= kShardMax) found_taken();
    guard.lock();
  }
  if (zone.is_asleep()) return asleep();
  uint32_t block = core::kNoBlock;
  if (!tightly(zone, granules)) [[likely]]
    block = zone.heap().allocate(granules, align, domain);
  if (block == core::kNoBlock) {
    guard.unlock();
    const plat_pool_status status = grow(zone, granules, align, request, domain, &block);
    if (status != PLAT_POOL_OK) return status;
    guard.lock();
  }
  *address = zone.open(block, request.bytes);
  guard.unlock();
  note_peak();
  if (tool_.listening()) tell_added(*address, request.bytes, request.tag);
  return PLAT_POOL_OK;
}

SmallTable::Mark* Pool::mark_of(const void* address, uint32_t index) const {
  const Space& space = *index_.find(address);
  return space.small->place(space.offset_of(address), index);
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
  if (front.push(address, stream)) return PLAT_POOL_OK;
  if (front.plain.load(std::memory_order_relaxed) != nullptr && release_plain(address, stream))
    return PLAT_POOL_OK;
  return release_slow(index_.find(address), address, stream);
}

bool Pool::release_plain(void* address, plat_stream stream) {
  Space* space = home_.load(std::memory_order_acquire);
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
  domain == 0 ? zone.heap().release_idle(block) : zone.heap().release(block, domain, streams_.mark(domain));
  return true;
}

plat_pool_status Pool::release_slow(Space* space, void* address, plat_stream stream) {
  if (address == nullptr) return PLAT_POOL_OK;
  if (space == nullptr) {
    Pool* companion = companion_at(address);
    return companion != nullptr ? companion->release(address, stream) : unknown(address);
  }
  // Before tools hear of it: the block stays what it is.
  if (const auto status = check_stream(stream); status != PLAT_POOL_OK) return status;
  if (space->small == nullptr)
    return tool_.listening() ? release_heard(*space, address, stream) : release_told(space, address, stream);
  if (!close_small(*space, address)) return unknown(address);
  const uint32_t index = space->small->entry(space->offset_of(address)).index();
  try {
    const auto status =
        tool_.listening() ? release_heard(*space, address, stream) : release_told(space, address, stream);
    if (status == PLAT_POOL_DEVICE) SmallTable::open(*mark_of(address, index));  // it is not let go
    return status;
  } catch (...) {
    SmallTable::open(*mark_of(address, index));
    throw;
  }
}

// What is left of a free once tools have heard of it.
plat_pool_status Pool::release_told(Space* space, void* address, plat_stream stream) {
  if (shared_count_.load(std::memory_order_relaxed) != 0) {
    const Deferred deferred = defer_shared(address, stream);
    if (deferred != Deferred::kNo) return deferred == Deferred::kYes ? PLAT_POOL_OK : unknown(address);
  }
  if (options_.release == PLAT_POOL_RELEASE_IDLE) release_idle();
  const plat_pool_status status = release_now(space, address, stream);
  if (options_.release != PLAT_POOL_RELEASE_NEVER && status == PLAT_POOL_OK) after_release(*space->zone);
  return status;
}

plat_pool_status Pool::release_now(Space* space, void* address, plat_stream stream) {
  uint16_t domain = streams_.domain_to_free_on(stream);
  if (domain == Streams::kNoStream) domain = 0;  // it was looked at before, and has finished since
  if (domain == Streams::kTooMany)
    return report(
        PLAT_POOL_DEVICE,
        fmt::format("pool {}: more than {} streams, and this one cannot be waited for: the block is "
                    "as it was; forget the streams that are gone",
                    name_, Streams::kMax));
  Zone& zone = *space->zone;
  if (zone.spans() == nullptr) {
    {
      std::lock_guard guard(zone.lock());
      const uint32_t block = zone.find(*space, address);
      if (block == core::kNoBlock) return unknown(address);
      zone.close(*space, block);
      zone.heap().release(block, domain, domain != 0 ? streams_.mark(domain) : 0);
    }
    return PLAT_POOL_OK;
  }
  const auto entry = space->small->entry(space->offset_of(address));
  if (!entry) return unknown(address);
  if (options_.thread_cache != 0 && &zone == small_) {
    if (ThreadCache* cache = thread_cache_of(*this)) {
      Lane* lane = fresh_lane(*cache, domain != 0 ? stream : nullptr);
      const Lane::Item item{address, mark_of(address, entry.index())};
      if (!lane->push(entry.index(), item)) {
        flush_lane(*lane, entry.index(), (cache_capacity(entry.index()) + 1) / 2);
        lane->push(entry.index(), item);
      }
      return PLAT_POOL_OK;
    }
  }
  std::lock_guard guard(zone.lock());
  return_block(zone, entry.span(), entry.index(), address, domain);
  return PLAT_POOL_OK;
}

// A companion may not have met a stream that the pool knows.
plat_pool_status Pool::check_stream(plat_stream stream) {
  const bool good =
      stream == nullptr || streams_.knows(stream) || (root_ != this && root_->streams_.knows(stream));
  return good ? PLAT_POOL_OK : no_stream(stream);
}

plat_pool_status Pool::no_stream(plat_stream stream) const {
  return report(
      PLAT_POOL_INVALID,
      fmt::format("pool {}: {} is no stream of the device, and none that the pool has met; create it "
                  "before its first use here, and call plat_pool_free where nothing uses a block",
                  name_, stream));
}

plat_pool_status Pool::asleep() const {
  return report(PLAT_POOL_ASLEEP, fmt::format("pool {}: its memory sleeps; wake it first", name_));
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
  ThreadCache* const cache = thread_cache_of(*this);
  if (cache == nullptr || cache->shard == 0) return *large_;
  if (hot_lane.key != key_) lane_of(*cache, request.stream);  // so that the short way finds it next time
  return *hot_lane.shard;
}

void Pool::found_taken() {
  if (options_.thread_cache == 0 || !source_->has_pages()) return;
  ThreadCache* const cache = thread_cache_of(*this);
  if (cache == nullptr || cache->shard != 0 || ++cache->contention < kContentionLimit) return;
  Zone* const shard = own_shard(*cache);
  if (hot_lane.key == key_) hot_lane.shard = shard;
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
    zones_.push_back(std::make_unique<Zone>(0, false, false, &root_->elsewhere_));
    shards_[least].store(zones_.back().get(), std::memory_order_release);
  }
  cache.shard = least + 1;
  return shards_[least].load(std::memory_order_relaxed);
}

Zone* Pool::tag_zone(uint16_t tag, bool small) {
  std::lock_guard guard(zones_mutex_);
  Zone*& zone = tags_[(uint32_t{tag} << 1) | small];
  if (zone == nullptr) {
    zones_.push_back(
        std::make_unique<Zone>(tag, small, options_.source == PLAT_POOL_SOURCE_CALLER, &root_->elsewhere_));
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
