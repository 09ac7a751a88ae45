// Random sequences against the naive model, with faults at device calls. The same driver feeds the fuzzer.
#include <gtest/gtest.h>

#include "support/pool_driver.h"

namespace {

TEST(PoolModel, HoldsForManySeeds) {
  for (uint64_t seed = 1; seed <= 120; ++seed)
    ASSERT_EQ(plat::test::drive_pool_with_seed(seed, 1500), "") << "seed " << seed;
}

TEST(PoolModel, HoldsForALongRun) { ASSERT_EQ(plat::test::drive_pool_with_seed(7919, 20000), ""); }

}  // namespace
