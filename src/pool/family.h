// SPDX-License-Identifier: Apache-2.0
// Family: what the pools behind one handle have in common: memory of the pool's own source, of the host and
// of the cached kind. One lock for whatever brings memory in or gives it back, one limit for all device
// memory, one peak and one callback.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "plat/pool.h"

namespace plat::pool {

class Pool;

struct Family {
  static constexpr size_t kMost = 3;

  explicit Family(plat_pool* of) : handle(of) {}
  // Visits the members; one may come while others are visited, none goes.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& member : members)
      if (Pool* const pool = member.load(std::memory_order_acquire)) visit(*pool);
  }

  plat_pool* const handle;
  std::mutex growth;  // held while pages or addresses come or go; taken before every other lock of a pool
  std::array<std::atomic<Pool*>, kMost> members{};  // growth guards adding
  std::atomic<uint64_t> held_peak{0};               // growth guards writing
  // Most memory to hold of the device and of the host; 0: no limit. Growth guards writing.
  std::atomic<uint64_t> device_limit{0};
  std::atomic<uint64_t> host_limit{0};
  std::atomic<uint64_t>& limit_of(bool on_device) { return on_device ? device_limit : host_limit; }
  plat_pool_oom_callback callback = nullptr;  // growth guards both
  void* user = nullptr;
};

}  // namespace plat::pool
