// Companions: memory of other sources than the pool's own. A pool for device memory opens one for pinned host
// memory, or for cached memory, at the first request. It is a pool like any other, but one growth lock, one
// limit for all device memory and one account cover the family, and the root passes on whatever address is
// not its own. Companions keep no thread caches: the cache of the root stays the one that a thread meets.
#include <fmt/format.h>

#include "pool/pool_impl.h"

namespace plat::pool {

bool Pool::serves(plat_pool_purpose purpose) const {
  if (purpose == PLAT_POOL_HOST) return options_.source == PLAT_POOL_SOURCE_HOST;
  if (purpose == PLAT_POOL_CACHED) return options_.source == PLAT_POOL_SOURCE_CACHED;
  return true;
}

plat_pool_status Pool::allocate_elsewhere(const Request& request, void** address) {
  if (options_.source == PLAT_POOL_SOURCE_CALLER || options_.source == PLAT_POOL_SOURCE_HOST)
    return report(PLAT_POOL_UNSUPPORTED,
                  fmt::format("pool {}: {}; make a pool over device memory for blocks of other kinds", name_,
                              options_.source == PLAT_POOL_SOURCE_HOST ? "it is made of host memory alone"
                                                                       : "the caller's range is all it has"));
  const bool host = request.purpose == PLAT_POOL_HOST;
  Pool* companion = (host ? host_ : cached_).load(std::memory_order_acquire);
  if (companion == nullptr) {
    const auto status = open_companion(host ? PLAT_POOL_SOURCE_HOST : PLAT_POOL_SOURCE_CACHED, &companion);
    if (status != PLAT_POOL_OK) return status;
  }
  return companion->allocate(request, address);
}

plat_pool_status Pool::open_companion(plat_pool_source source, Pool** companion) {
  const bool host = source == PLAT_POOL_SOURCE_HOST;
  std::atomic<Pool*>& place = host ? host_ : cached_;
  std::lock_guard guard(growth_);
  *companion = place.load(std::memory_order_relaxed);
  if (*companion != nullptr) return PLAT_POOL_OK;  // another thread was faster
  plat_pool_options options = options_;
  const std::string name = name_ + (host ? "_host" : "_cached");
  options.name = name.c_str();
  options.device = source_->device();
  options.source = source;
  options.initial_bytes = 0;
  options.thread_cache = 0;
  if (host) options.limit_bytes = options_.host_limit_bytes;
  std::string why;
  auto made = Source::create(options, &why);
  if (made == nullptr) return report(PLAT_POOL_DEVICE, fmt::format("pool {}: {}", name_, why));
  const plat_pool_status status = create(options, std::move(made), this, companion);
  if (status == PLAT_POOL_OK) place.store(*companion, std::memory_order_release);
  return status;
}

Pool* Pool::companion_at(const void* address) const {
  for (const auto* place : {&host_, &cached_})
    if (Pool* companion = place->load(std::memory_order_acquire))
      if (companion->index_.find(address) != nullptr) return companion;
  return nullptr;
}

void Pool::for_companions(const std::function<void(Pool&)>& visit) const {
  for (const auto* place : {&host_, &cached_})
    if (Pool* companion = place->load(std::memory_order_acquire)) visit(*companion);
}

// The rest of the family that competes for the same memory. growth_ is held.
void Pool::for_relatives(const std::function<void(Pool&)>& visit) {
  auto other = [&](Pool& relative) {
    if (&relative != this && shares_device(relative)) visit(relative);
  };
  other(*root_);
  root_->for_companions(other);
}

// Whether what one gives back is room for the other.
bool Pool::shares_device(const Pool& other) const {
  return source_->on_device() == other.source_->on_device() &&
         (!source_->on_device() || source_->device() == other.source_->device());
}

// What all of them hold.
uint64_t Pool::family_bytes() const {
  uint64_t bytes = root_->held_bytes_;
  root_->for_companions([&](Pool& companion) { bytes += companion.held_bytes_; });
  return bytes;
}

// How much more may be taken from the device, as far as the limit goes.
uint64_t Pool::room_bytes() const {
  if (options_.limit_bytes == 0) return UINT64_MAX;
  uint64_t held = 0;
  auto count = [&](Pool& member) {
    if (member.source_->on_device() == source_->on_device()) held += member.held_bytes_;
  };
  count(*root_);
  root_->for_companions(count);
  return options_.limit_bytes > held ? options_.limit_bytes - held : 0;
}

// growth_ is held, so the peak is exact.
void Pool::note_held() { root_->held_peak_ = std::max(root_->held_peak_.load(), family_bytes()); }

bool Pool::on_host(const void* address) {
  if (index_.find(address) != nullptr) return !source_->on_device();
  const Pool* companion = companion_at(address);
  return companion != nullptr && !companion->source_->on_device();
}

}  // namespace plat::pool
