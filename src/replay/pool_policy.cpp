// SPDX-License-Identifier: Apache-2.0
// The pool, over a device of numbers: pages are counted, addresses lead nowhere, and streams complete in
// order and at once.
#include <plat/pool_source.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/units.h"
#include "replay/policy.h"

namespace plat::replay {

namespace {

struct CountedDevice {
  uint64_t capacity_bytes;
  uint64_t next_address = 16_TiB;
  uint64_t pages = 0;

  static CountedDevice& of(void* user) { return *static_cast<CountedDevice*>(user); }
  static plat_pool_status reserve(void* user, uint64_t bytes, void** base) {
    *base = reinterpret_cast<void*>(of(user).next_address);
    of(user).next_address += bytes + 1_GiB;
    return PLAT_POOL_OK;
  }
  static plat_pool_status create_page(void* user, void** page) {
    CountedDevice& device = of(user);
    if ((device.pages + 1) * PLAT_POOL_SOURCE_PAGE_BYTES > device.capacity_bytes) return PLAT_POOL_NO_MEMORY;
    *page = reinterpret_cast<void*>(++device.pages);
    return PLAT_POOL_OK;
  }
  static plat_pool_status destroy_page(void* user, void*) { return --of(user).pages, PLAT_POOL_OK; }

  // A table without operations of streams: every stream has always finished.
  plat_pool_source_ops operations() const {
    plat_pool_source_ops ops = PLAT_POOL_SOURCE_OPS_INIT;
    ops.total_bytes = std::min<uint64_t>(capacity_bytes, 64_GiB);
    ops.reserve = reserve;
    ops.unreserve = [](void*, void*) { return PLAT_POOL_OK; };
    ops.create_page = create_page;
    ops.destroy_page = destroy_page;
    ops.map_page = [](void*, void*, void*) { return PLAT_POOL_OK; };
    ops.unmap_page = [](void*, void*) { return PLAT_POOL_OK; };
    return ops;
  }
};

class PoolPolicy final : public Policy {
 public:
  PoolPolicy(uint64_t device_bytes, uint32_t blocks, double slack, uint64_t max_remaps)
      : device_{device_bytes}, addresses_(blocks) {
    plat_pool_options options;
    plat_pool_options_init(&options);
    options.name = "replay";
    options.slack = slack;
    options.max_remaps = max_remaps;
    const plat_pool_source_ops ops = device_.operations();
    if (plat_pool_create_over(&ops, &device_, &options, &pool_) != PLAT_POOL_OK)
      throw std::runtime_error(plat_pool_last_error());
  }
  ~PoolPolicy() override { plat_pool_destroy(pool_); }
  PoolPolicy(const PoolPolicy&) = delete;
  PoolPolicy& operator=(const PoolPolicy&) = delete;

  bool allocate(uint32_t block, uint64_t bytes, uint32_t stream) override {
    return plat_pool_alloc_on(pool_, bytes, handle_of(stream), &addresses_[block]) == PLAT_POOL_OK;
  }
  void release(uint32_t block, uint32_t stream) override {
    plat_pool_free_on(pool_, addresses_[block], handle_of(stream));
  }
  void use(uint32_t block, uint32_t stream) override {
    plat_pool_use_on(pool_, addresses_[block], handle_of(stream));
  }
  Counters counters() override {
    plat_pool_stats stats = PLAT_POOL_STATS_INIT;
    plat_pool_get_stats(pool_, &stats);
    return {stats.reserved_bytes, stats.reserved_peak, stats.maps, stats.remaps, stats.most_remaps};
  }

 private:
  // A stream is never followed: any number but 0 will do.
  static plat_stream handle_of(uint32_t stream) {
    return reinterpret_cast<plat_stream>(static_cast<uintptr_t>(stream));
  }
  CountedDevice device_;
  plat_pool* pool_ = nullptr;
  std::vector<void*> addresses_;
};

}  // namespace

std::unique_ptr<Policy> make_pool_policy(uint64_t device_bytes, uint32_t blocks, double slack,
                                         uint64_t max_remaps) {
  return std::make_unique<PoolPolicy>(device_bytes, blocks, slack, max_remaps);
}

}  // namespace plat::replay
