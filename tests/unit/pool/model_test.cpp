// SPDX-License-Identifier: Apache-2.0
// Random sequences against the naive model, with faults at device calls. The same driver feeds the fuzzer.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/pool_driver.h"

namespace {

// One thread: ThreadSanitizer has nothing to find here, and takes long.
#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 12;
#else
constexpr uint64_t kSeeds = 120;
#endif

TEST(PoolModel, HoldsForManySeeds) {
  const char* const chosen = getenv("SEEDS");  // fewer where each pool's addresses stay taken
  const uint64_t seeds = chosen != nullptr ? strtoull(chosen, nullptr, 0) : kSeeds;
  ASSERT_GT(seeds, 0u) << "SEEDS=" << chosen;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    ASSERT_EQ(plat::test::drive_pool_with_seed(seed, 1500), "") << "seed " << seed;
}

TEST(PoolModel, HoldsForALongRun) { ASSERT_EQ(plat::test::drive_pool_with_seed(7919, 20000), ""); }

}  // namespace
