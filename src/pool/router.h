// SPDX-License-Identifier: Apache-2.0
// Router: the handle of a pool. It sends each request to the pool that has memory for its purpose, and
// everything else to the one that the address is in. Pools for pinned host memory and for cached memory, its
// companions, are opened at the first request; they share the growth lock, the limit for device memory, the
// account and the end of the first. They keep no thread caches: that of the first pool stays the one that a
// thread meets.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pool/pool.h"

namespace plat::pool {

class Router final : public plat_pool {
 public:
  static plat_pool_status create(const plat_pool_options& options, std::unique_ptr<Source> source,
                                 plat_pool** pool);
  ~Router() override;
  // Memory of the source that the pool was made with.
  Pool& main() { return main_; }

  plat_pool_status allocate_otherwise(const Request& request, void** address) override;
  plat_pool_status release_otherwise(void* address, plat_stream stream) override;
  plat_pool_status use_on(void* address, plat_stream stream) override {
    return owner_of(address).use_on(address, stream);
  }
  plat_pool_status resize(void* address, uint64_t bytes) override {
    return owner_of(address).resize(address, bytes);
  }
  plat_pool_status usable(const void* address, uint64_t* bytes, uint64_t* with_tail) override {
    return owner_of(address).usable(address, bytes, with_tail);
  }
  plat_pool_status name_block(void* address, const char* name) override {
    return owner_of(address).name_block(address, name);
  }
  bool on_host(const void* address) override;
  plat_pool_status forget_stream(plat_stream stream) override;
  plat_pool_status stats(plat_pool_stats* stats) override;
  plat_pool_status tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) override;
  plat_pool_status reset_peaks() override;
  plat_pool_status set_limits(uint64_t limit_bytes, uint64_t host_limit_bytes) override;
  plat_pool_status owner(const void* address, plat_pool_block* block) override;
  plat_pool_status list(std::vector<plat_pool_block>& blocks) override;
  plat_pool_status held(std::vector<HeldRange>& ranges) override;
  plat_pool_status trim(uint64_t keep_bytes) override;
  plat_pool_status reset() override;
  uint64_t resets() const override { return resets_; }
  plat_pool_status set_oom_callback(plat_pool_oom_callback callback, void* user) override;
  plat_pool_status flush_thread() override { return main_.flush_thread(), PLAT_POOL_OK; }
  plat_pool_status sleep(uint16_t tag, bool save) override;
  plat_pool_status wake(uint16_t tag) override { return main_.sleeper().wake(tag); }
  plat_pool_status close() override;

 private:
  enum Member { kMain, kHost, kCached };
  Router(const plat_pool_options& options, std::unique_ptr<Source> source);
  void store_limits(uint64_t limit_bytes, uint64_t host_limit_bytes);
  plat_pool_status allocate_untold(const Request& request, void** address);
  plat_pool_status companion_for(plat_pool_purpose purpose, Pool** companion);
  plat_pool_status open_companion(Member which, Pool** companion);
  // The first pool where it is nobody's.
  Pool& owner_of(const void* address);

  Family family_{this};
  FastPath unused_;  // of companions
  Pool main_;
  std::vector<std::unique_ptr<Pool>> companions_;  // family_.growth guards adding
  std::atomic<uint64_t> resets_{0};
};

}  // namespace plat::pool
