// SPDX-License-Identifier: Apache-2.0
#include "pool/router.h"

#include <fmt/format.h>

#include <mutex>

#include "base/thread_sanitizer.h"
#include "pool/messages.h"

namespace plat::pool {

Router::Router(const plat_pool_options& options, std::unique_ptr<Source> source)
    : main_(options, std::move(source), family_, nullptr, fast) {
  family_.members[kMain] = &main_;
  store_limits(options.limit_bytes, options.host_limit_bytes);
}

void Router::store_limits(uint64_t limit_bytes, uint64_t host_limit_bytes) {
  if (main_.source().on_device()) family_.host_limit = host_limit_bytes;
  family_.limit_of(main_.source().on_device()) = limit_bytes;
}

Router::~Router() { close(); }

plat_pool_status Router::create(const plat_pool_options& options, std::unique_ptr<Source> source,
                                plat_pool** out) {
  std::unique_ptr<Router> router(new Router(options, std::move(source)));
  router->main_.open();
  if (options.initial_bytes != 0) {
    void* block = nullptr;
    const auto status = router->allocate_otherwise(Request{options.initial_bytes}, &block);
    if (status != PLAT_POOL_OK) return status;
    router->release_otherwise(block, nullptr);
  }
  *out = router.release();
  return PLAT_POOL_OK;
}

Pool& Router::owner_of(const void* address) {
  Pool* owner = &main_;
  if (main_.space_at(address) != nullptr) return *owner;
  family_.for_each([&](Pool& member) {
    if (member.space_at(address) != nullptr) owner = &member;
  });
  return *owner;
}

plat_pool_status Router::companion_for(plat_pool_purpose purpose, Pool** companion) {
  const plat_pool_source source = main_.options().source;
  const char* const lacks = source == PLAT_POOL_SOURCE_HOST     ? "it is made of host memory alone"
                            : source == PLAT_POOL_SOURCE_CALLER ? "the caller's range is all it has"
                            : !main_.source().is_of_a_device()  ? "the caller's source is all it has"
                                                                : nullptr;
  if (lacks != nullptr)
    return report(PLAT_POOL_UNSUPPORTED,
                  fmt::format("pool {}: {}; make a pool over device memory for blocks of other kinds",
                              main_.name(), lacks));
  const Member which = purpose == PLAT_POOL_HOST ? kHost : kCached;
  *companion = family_.members[which].load(std::memory_order_acquire);
  return *companion != nullptr ? PLAT_POOL_OK : open_companion(which, companion);
}

plat_pool_status Router::open_companion(Member which, Pool** companion) {
  std::lock_guard guard(family_.growth);
  *companion = family_.members[which].load(std::memory_order_relaxed);  // the lock orders it
  if (*companion != nullptr) return PLAT_POOL_OK;                       // another thread was faster
  plat_pool_options options = main_.options();
  const std::string name = main_.name() + (which == kHost ? "_host" : "_cached");
  options.name = name.c_str();
  options.device = main_.source().device();
  options.source = which == kHost ? PLAT_POOL_SOURCE_HOST : PLAT_POOL_SOURCE_CACHED;
  options.initial_bytes = 0;
  options.thread_cache = 0;
  std::string why;
  auto source = Source::create(options, &why);
  if (source == nullptr) return report(PLAT_POOL_DEVICE, fmt::format("pool {}: {}", main_.name(), why));
  companions_.reserve(companions_.size() + 1);
  companions_.push_back(std::make_unique<Pool>(options, std::move(source), family_, &main_, unused_));
  companions_.back()->open();
  *companion = companions_.back().get();
  family_.members[which].store(*companion, std::memory_order_release);
  return PLAT_POOL_OK;
}

// Whose memory a block has nobody knows who did not follow it through all blocks that had a part of it: so an
// allocation comes after all frees before it.
plat_pool_status Router::allocate_otherwise(const Request& request, void** address) {
  const plat_pool_status status = allocate_untold(request, address);
  if (status == PLAT_POOL_OK) tsan::tell_after(this);
  return status;
}

plat_pool_status Router::allocate_untold(const Request& request, void** address) {
  const plat_pool_source source = main_.options().source;
  if ((request.purpose == PLAT_POOL_HOST && source != PLAT_POOL_SOURCE_HOST) ||
      (request.purpose == PLAT_POOL_CACHED && source != PLAT_POOL_SOURCE_CACHED)) {
    *address = nullptr;
    Pool* companion = nullptr;
    const auto status = companion_for(request.purpose, &companion);
    return status == PLAT_POOL_OK ? companion->allocate(request, address) : status;
  }
  return main_.allocate(request, address);
}

plat_pool_status Router::release_otherwise(void* address, plat_stream stream) {
  if (address == nullptr) return PLAT_POOL_OK;
  tsan::tell_before(this);
  Pool& owner = owner_of(address);
  Space* const space = owner.space_at(address);
  return space != nullptr ? owner.release(*space, address, stream) : unknown_block(main_.name(), address);
}

bool Router::on_host(const void* address) {
  Pool& owner = owner_of(address);
  return owner.space_at(address) != nullptr && !owner.source().on_device();
}

plat_pool_status Router::forget_stream(plat_stream stream) {
  if (stream == nullptr) return PLAT_POOL_OK;
  main_.flush_thread();
  plat_pool_status status = PLAT_POOL_OK;
  // The first pool last: what it remembers of the stream counts for all.
  for (const Member which : {kHost, kCached, kMain})
    if (Pool* const pool = family_.members[which]; pool != nullptr && status == PLAT_POOL_OK)
      status = pool->forget_stream(stream);
  return status;
}

plat_pool_status Router::stats(plat_pool_stats* stats) {
  *stats = plat_pool_stats{};
  family_.for_each([&](Pool& pool) { pool.add_stats(*stats); });
  return PLAT_POOL_OK;
}

plat_pool_status Router::tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) {
  *used = 0;
  *reserved = 0;
  family_.for_each([&](Pool& pool) { pool.add_tag_bytes(tag, used, reserved); });
  return PLAT_POOL_OK;
}

plat_pool_status Router::reset_peaks() {
  const std::lock_guard guard(family_.growth);
  uint64_t held = 0;
  family_.for_each([&](Pool& pool) { held += pool.backing().held_bytes(); });
  family_.held_peak = held;
  main_.reset_peak();
  return PLAT_POOL_OK;
}

plat_pool_status Router::set_limits(uint64_t limit_bytes, uint64_t host_limit_bytes) {
  main_.flush_thread();
  const std::lock_guard guard(family_.growth);
  store_limits(limit_bytes, host_limit_bytes);
  family_.for_each([&](Pool& pool) {
    const bool on_device = pool.source().on_device();
    const uint64_t limit = family_.limit_of(on_device);
    uint64_t others = 0;
    family_.for_each([&](Pool& other) {
      if (&other != &pool && other.source().on_device() == on_device) others += other.backing().held_bytes();
    });
    // What the device does not take back now is tried again with the next that goes.
    if (limit != 0 && others + pool.backing().held_bytes() > limit)
      pool.shrink(limit > others ? limit - others : 0);
  });
  return PLAT_POOL_OK;
}

plat_pool_status Router::owner(const void* address, plat_pool_block* block) {
  return owner_of(address).find_owner(address, block) ? PLAT_POOL_OK : no_block_around(main_.name(), address);
}

plat_pool_status Router::list(std::vector<plat_pool_block>& blocks) {
  family_.for_each([&](Pool& pool) { pool.list_blocks(blocks); });
  return PLAT_POOL_OK;
}

plat_pool_status Router::held(std::vector<HeldRange>& ranges) {
  family_.for_each([&](Pool& pool) { pool.list_held(ranges); });
  return PLAT_POOL_OK;
}

plat_pool_status Router::trim(uint64_t keep_bytes) {
  main_.flush_thread();
  std::lock_guard guard(family_.growth);
  bool taken = true;
  family_.for_each([&](Pool& pool) {
    uint64_t others = 0;
    family_.for_each([&](Pool& other) { others += &other != &pool ? other.backing().held_bytes() : 0; });
    taken = pool.shrink(keep_bytes > others ? keep_bytes - others : 0) && taken;
  });
  if (taken) return PLAT_POOL_OK;
  return report(PLAT_POOL_DEVICE, fmt::format("pool {}: the device took not everything back: {}",
                                              main_.name(), Source::error()));
}

plat_pool_status Router::reset() {
  main_.caches().request_flush();
  main_.flush_thread();
  std::lock_guard guard(family_.growth);
  if (main_.caches().hold_blocks())
    return report(
        PLAT_POOL_BUSY,
        fmt::format("pool {}: other threads still keep blocks of it in their caches", main_.name()));
  ++resets_;
  family_.for_each([](Pool& pool) { pool.reset(); });
  return PLAT_POOL_OK;
}

plat_pool_status Router::set_oom_callback(plat_pool_oom_callback callback, void* user) {
  std::lock_guard guard(family_.growth);
  family_.callback = callback;
  family_.user = user;
  return PLAT_POOL_OK;
}

plat_pool_status Router::sleep(uint16_t tag, bool save) {
  const plat_pool_status status = main_.sleeper().sleep(tag, save);
  if (status != PLAT_POOL_OK || tag != PLAT_POOL_ALL_TAGS) return status;
  std::lock_guard guard(family_.growth);
  for (const auto& companion : companions_) companion->give_up_all_idle();
  return status;
}

plat_pool_status Router::close() {
  plat_pool_status status = PLAT_POOL_OK;
  for (const auto& companion : companions_)
    if (const auto closed = companion->close(); closed != PLAT_POOL_OK) status = closed;
  if (const auto closed = main_.close(); closed != PLAT_POOL_OK) status = closed;
  return status;
}

}  // namespace plat::pool
