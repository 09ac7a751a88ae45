// SPDX-License-Identifier: Apache-2.0
// limit: refuses what would bring the live bytes, as the upstream counts them, above a quota. statistics:
// counts what passes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "pool/decorator.h"
#include "pool/guarded.h"

namespace plat::pool {

namespace {

// Remembers the blocks that came through it: others are not its own to free, resize or count.
class Counted : public Decorator {
 public:
  Counted(plat_pool* upstream, const char* name) : Decorator(upstream), name_(name) {}
  plat_pool_status allocate_otherwise(const Request& request, void** address) override {
    const plat_pool_status status = upstream_->allocate(request, address);
    if (status != PLAT_POOL_OK) return status;
    uint64_t held = 0;
    upstream_->usable(*address, nullptr, &held);
    try {
      std::lock_guard guard(mutex_);
      auto [block, is_new] = blocks_.try_emplace(*address, held);
      if (!is_new) used_ -= std::exchange(block->second, held);  // freed behind our back
      used_ += held;
      peak_ = std::max(peak_, used_);
    } catch (...) {
      upstream_->release(std::exchange(*address, nullptr), request.stream);
      throw;
    }
    return status;
  }
  plat_pool_status release_otherwise(void* address, plat_stream stream) override {
    if (address == nullptr) return PLAT_POOL_OK;
    // Forgotten before the block can come back to another thread under the same address.
    Blocks::node_type block;
    {
      std::lock_guard guard(mutex_);
      block = blocks_.extract(address);
      if (block.empty()) return stranger(address);
      used_ -= block.mapped();
    }
    plat_pool_status status = PLAT_POOL_OK;
    try {
      status = upstream_->release(address, stream);
    } catch (...) {
      remember(std::move(block));
      throw;
    }
    // A block with a broken guard is freed all the same, and one that the upstream does not know is gone.
    if (status != PLAT_POOL_OK && status != PLAT_POOL_CORRUPT && status != PLAT_POOL_NOT_OWNED)
      remember(std::move(block));
    return status;
  }
  plat_pool_status resize(void* address, uint64_t bytes) override {
    if (!passed(address)) return stranger(address);
    const plat_pool_status status = upstream_->resize(address, bytes);
    if (status != PLAT_POOL_OK) return status;
    uint64_t held = 0;
    upstream_->usable(address, nullptr, &held);
    std::lock_guard guard(mutex_);
    if (auto block = blocks_.find(address); block != blocks_.end()) {
      used_ -= std::exchange(block->second, held);
      used_ += held;
      peak_ = std::max(peak_, used_);
    }
    return status;
  }
  plat_pool_status reset_peaks() override {
    const plat_pool_status status = upstream_->reset_peaks();
    std::lock_guard guard(mutex_);
    peak_ = used_;
    return status;
  }
  plat_pool_status owner(const void* address, plat_pool_block* block) override {
    plat_pool_block found;
    const plat_pool_status status = upstream_->owner(address, &found);
    if (status != PLAT_POOL_OK) return status;
    if (!passed(found.address)) return stranger(address);
    *block = found;
    return PLAT_POOL_OK;
  }
  plat_pool_status list(std::vector<plat_pool_block>& blocks) override {
    std::vector<plat_pool_block> all;
    const plat_pool_status status = upstream_->list(all);
    std::lock_guard guard(mutex_);
    for (const plat_pool_block& block : all)
      if (blocks_.contains(block.address)) blocks.push_back(block);
    return status;
  }
  plat_pool_status reset() override {
    const plat_pool_status status = upstream_->reset();
    if (status != PLAT_POOL_OK) return status;
    std::lock_guard guard(mutex_);
    blocks_.clear();
    used_ = 0;
    return status;
  }

 protected:
  // Not hashed: a record that is put back must need no memory of the host.
  using Blocks = std::map<const void*, uint64_t>;

  bool passed(const void* address) {
    std::lock_guard guard(mutex_);
    return blocks_.contains(address);
  }
  plat_pool_status stranger(const void* address) const {
    return report(PLAT_POOL_NOT_OWNED,
                  fmt::format("{} is no live block that came through {}; free it where it was allocated",
                              address, name_));
  }

  const char* const name_;
  std::mutex mutex_;
  Blocks blocks_;  // and what each holds
  uint64_t used_ = 0;
  uint64_t peak_ = 0;

 private:
  void remember(Blocks::node_type block) {
    std::lock_guard guard(mutex_);
    used_ += block.mapped();
    blocks_.insert(std::move(block));
  }
};

class Limit final : public Counted {
 public:
  Limit(plat_pool* upstream, uint64_t bytes) : Counted(upstream, "this limit"), quota_(bytes) {}
  plat_pool_status allocate_otherwise(const Request& request, void** address) override {
    const Charge charge(*this, request.bytes);
    if (!charge)
      return report(PLAT_POOL_QUOTA,
                    fmt::format("a block of {} would exceed the quota of {}; {} are in use",
                                format_bytes(request.bytes), format_bytes(quota_), format_bytes(in_use())));
    return Counted::allocate_otherwise(request, address);
  }
  plat_pool_status resize(void* address, uint64_t bytes) override {
    uint64_t before = 0;
    if (!passed(address)) return stranger(address);
    upstream_->usable(address, nullptr, &before);
    const Charge charge(*this, bytes - std::min(bytes, before));
    if (!charge)
      return report(PLAT_POOL_QUOTA, fmt::format("growing a block to {} would exceed the quota of {}",
                                                 format_bytes(bytes), format_bytes(quota_)));
    return Counted::resize(address, bytes);
  }
  plat_pool_status set_limits(uint64_t limit_bytes, uint64_t) override {
    std::lock_guard guard(mutex_);
    quota_ = limit_bytes;
    return PLAT_POOL_OK;
  }

 private:
  // What is asked for counts before asking: two threads cannot both take the last bytes. Once it is had, what
  // the block really holds takes its place.
  class Charge {
   public:
    Charge(Limit& limit, uint64_t bytes) : limit_(limit) {
      std::lock_guard guard(limit.mutex_);
      const uint64_t taken = limit.used_ + limit.asked_;
      granted_ = bytes == 0 || (taken <= limit.quota_ && bytes <= limit.quota_ - taken);
      bytes_ = granted_ ? bytes : 0;
      limit.asked_ += bytes_;
    }
    ~Charge() {
      std::lock_guard guard(limit_.mutex_);
      limit_.asked_ -= bytes_;
    }
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    explicit operator bool() const { return granted_; }

   private:
    Limit& limit_;
    uint64_t bytes_;
    bool granted_;
  };
  uint64_t in_use() {
    std::lock_guard guard(mutex_);
    return used_;
  }
  std::atomic<uint64_t> quota_;  // mutex_ guards deciding by it
  uint64_t asked_ = 0;
};

class Statistics final : public Counted {
 public:
  explicit Statistics(plat_pool* upstream) : Counted(upstream, "these statistics") {}
  plat_pool_status allocate_otherwise(const Request& request, void** address) override {
    const plat_pool_status status = Counted::allocate_otherwise(request, address);
    if (status != PLAT_POOL_OK) failed_ += 1;
    return status;
  }
  // What went through this decorator, exact to the block, in the pool's frame of everything else.
  plat_pool_status stats(plat_pool_stats* stats) override {
    const plat_pool_status status = upstream_->stats(stats);
    std::lock_guard guard(mutex_);
    stats->used_bytes = used_;
    stats->used_peak = peak_;
    stats->live_blocks = blocks_.size();
    stats->out_of_memory = failed_;
    return status;
  }

 private:
  std::atomic<uint64_t> failed_{0};
};

}  // namespace

}  // namespace plat::pool

using namespace plat::pool;

extern "C" plat_pool_status plat_pool_with_limit(plat_pool* upstream, uint64_t bytes, plat_pool** pool) {
  if (upstream == nullptr || pool == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_with_limit: an argument is NULL");
  return plat::pool::guarded(*upstream, [&] { return *pool = new Limit(upstream, bytes), PLAT_POOL_OK; });
}

extern "C" plat_pool_status plat_pool_with_statistics(plat_pool* upstream, plat_pool** pool) {
  if (upstream == nullptr || pool == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_with_statistics: an argument is NULL");
  return plat::pool::guarded(*upstream, [&] { return *pool = new Statistics(upstream), PLAT_POOL_OK; });
}
