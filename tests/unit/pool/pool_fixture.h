// SPDX-License-Identifier: Apache-2.0
// A pool over a small counting device.
#pragma once

#include <gtest/gtest.h>
#include <plat/pool.h>

#include "base/units.h"
#include "support/counting_acl.h"

namespace plat::test {

class PoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reset_device();
    device().capacity_bytes = 64_MiB;
    plat_pool_options_init(&options);
  }
  void TearDown() override {
    plat_pool_destroy(pool);
    EXPECT_EQ(device().broken_rules, 0u) << device().first_broken;
    EXPECT_TRUE(device().clean());
  }
  void create() { ASSERT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_OK) << plat_pool_last_error(); }
  void* take(uint64_t bytes, plat_stream stream = nullptr) {
    void* address = nullptr;
    EXPECT_EQ(plat_pool_alloc_on(pool, bytes, stream, &address), PLAT_POOL_OK) << plat_pool_last_error();
    return address;
  }
  plat_pool_stats stats() { return stats_of(pool); }
  static plat_pool_stats stats_of(plat_pool* which) {
    plat_pool_stats stats;
    plat_pool_get_stats(which, &stats);
    return stats;
  }
  static plat_stream stream(int number) {
    return reinterpret_cast<plat_stream>(static_cast<uintptr_t>(0x100 + number));
  }

  plat_pool_options options;
  plat_pool* pool = nullptr;
};

}  // namespace plat::test
