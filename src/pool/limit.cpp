// limit: refuses what would bring the live bytes, as the upstream counts them, above a quota. statistics:
// counts what passes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/text.h"
#include "pool/decorator.h"
#include "pool/guarded.h"

namespace plat::pool {

namespace {

class Limit final : public Decorator {
 public:
  Limit(plat_pool* upstream, uint64_t bytes) : Decorator(upstream), quota_(bytes) {}
  plat_pool_status allocate(const Request& request, void** address) override {
    // Charged before asking: two threads cannot both take the last bytes.
    const uint64_t charge = request.bytes;
    if (used_.fetch_add(charge) + charge > quota_) {
      used_.fetch_sub(charge);
      return report(PLAT_POOL_QUOTA,
                    fmt::format("a block of {} would exceed the quota of {}; {} are in use",
                                format_bytes(charge), format_bytes(quota_), format_bytes(used_.load())));
    }
    const plat_pool_status status = upstream_->allocate(request, address);
    uint64_t held = 0;
    if (status == PLAT_POOL_OK) upstream_->usable(*address, nullptr, &held);
    used_ += held;  // what the block really holds takes the place of what was asked for
    used_ -= charge;
    return status;
  }
  plat_pool_status release(void* address, plat_stream stream) override {
    uint64_t held = 0;
    if (address != nullptr) upstream_->usable(address, nullptr, &held);
    const plat_pool_status status = upstream_->release(address, stream);
    if (status == PLAT_POOL_OK) used_ -= held;
    return status;
  }
  plat_pool_status resize(void* address, uint64_t bytes) override {
    uint64_t before = 0;
    uint64_t after = 0;
    upstream_->usable(address, nullptr, &before);
    if (bytes > before && used_ + (bytes - before) > quota_)
      return report(PLAT_POOL_QUOTA, fmt::format("growing a block to {} would exceed the quota of {}",
                                                 format_bytes(bytes), format_bytes(quota_)));
    const plat_pool_status status = upstream_->resize(address, bytes);
    if (status != PLAT_POOL_OK) return status;
    upstream_->usable(address, nullptr, &after);
    used_ += after - before;
    return status;
  }
  plat_pool_status reset() override {
    const plat_pool_status status = upstream_->reset();
    if (status == PLAT_POOL_OK) used_ = 0;
    return status;
  }

 private:
  const uint64_t quota_;
  std::atomic<uint64_t> used_{0};
};

class Statistics final : public Decorator {
 public:
  using Decorator::Decorator;
  plat_pool_status allocate(const Request& request, void** address) override {
    const plat_pool_status status = upstream_->allocate(request, address);
    if (status != PLAT_POOL_OK) {
      failed_ += 1;
      return status;
    }
    uint64_t held = 0;
    upstream_->usable(*address, nullptr, &held);
    std::lock_guard guard(mutex_);
    used_ += held;
    ++blocks_;
    peak_ = std::max(peak_, used_);
    return status;
  }
  plat_pool_status release(void* address, plat_stream stream) override {
    uint64_t held = 0;
    if (address == nullptr) return PLAT_POOL_OK;
    upstream_->usable(address, nullptr, &held);
    const plat_pool_status status = upstream_->release(address, stream);
    if (status != PLAT_POOL_OK) return status;
    std::lock_guard guard(mutex_);
    used_ -= held;
    --blocks_;
    return status;
  }
  plat_pool_status resize(void* address, uint64_t bytes) override {
    uint64_t before = 0;
    uint64_t after = 0;
    upstream_->usable(address, nullptr, &before);
    const plat_pool_status status = upstream_->resize(address, bytes);
    if (status != PLAT_POOL_OK) return status;
    upstream_->usable(address, nullptr, &after);
    std::lock_guard guard(mutex_);
    used_ += after - before;
    peak_ = std::max(peak_, used_);
    return status;
  }
  plat_pool_status reset() override {
    const plat_pool_status status = upstream_->reset();
    std::lock_guard guard(mutex_);
    if (status == PLAT_POOL_OK) used_ = blocks_ = 0;
    return status;
  }
  // What went through this decorator, exact to the block, in the pool's frame of everything else.
  plat_pool_status stats(plat_pool_stats* stats) override {
    const plat_pool_status status = upstream_->stats(stats);
    std::lock_guard guard(mutex_);
    stats->used_bytes = used_;
    stats->used_peak = peak_;
    stats->live_blocks = blocks_;
    stats->out_of_memory = failed_;
    return status;
  }

 private:
  std::mutex mutex_;
  uint64_t used_ = 0;
  uint64_t peak_ = 0;
  uint64_t blocks_ = 0;
  std::atomic<uint64_t> failed_{0};
};

}  // namespace

}  // namespace plat::pool

using namespace plat::pool;

extern "C" plat_pool_status plat_pool_with_limit(plat_pool* upstream, uint64_t bytes, plat_pool** pool) {
  if (upstream == nullptr || pool == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_with_limit: an argument is NULL");
  return plat::pool::guarded([&] { return *pool = new Limit(upstream, bytes), PLAT_POOL_OK; });
}

extern "C" plat_pool_status plat_pool_with_statistics(plat_pool* upstream, plat_pool** pool) {
  if (upstream == nullptr || pool == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_with_statistics: an argument is NULL");
  return plat::pool::guarded([&] { return *pool = new Statistics(upstream), PLAT_POOL_OK; });
}
