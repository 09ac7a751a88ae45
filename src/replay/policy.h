// SPDX-License-Identifier: Apache-2.0
// Policies that a trace can be run against: the pool, and three plain ones that show what it is worth.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace plat::replay {

struct Counters {
  uint64_t reserved_bytes = 0;
  uint64_t reserved_peak = 0;
  uint64_t maps = 0;
  uint64_t remaps = 0;
  uint64_t most_remaps = 0;  // for one request
};

class Policy {
 public:
  virtual ~Policy() = default;
  // False when the device is too small.
  virtual bool allocate(uint32_t block, uint64_t bytes, uint32_t stream) = 0;
  virtual void release(uint32_t block, uint32_t stream) = 0;
  // Another stream than the block's uses it; the reference policies know no streams.
  virtual void use(uint32_t, uint32_t) {}
  virtual Counters counters() = 0;
};

// "pool", "best-fit", "buddy", "page-run"; null for another name. `blocks` is how many a trace has, `slack`
// and `max_remaps` the pool's.
std::unique_ptr<Policy> make_policy(const std::string& name, uint64_t device_bytes, uint32_t blocks,
                                    double slack, uint64_t max_remaps = 0);
std::unique_ptr<Policy> make_pool_policy(uint64_t device_bytes, uint32_t blocks, double slack,
                                         uint64_t max_remaps);
inline constexpr const char* kPolicies[] = {"pool", "best-fit", "buddy", "page-run"};

}  // namespace plat::replay
