// SPDX-License-Identifier: Apache-2.0
// The host runs out of memory for the records of a pool: the call says so, and nothing is lost.
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "pool_fixture.h"

namespace {
std::atomic<bool> no_more{false};
}

// The records grow by realloc(), which the linker leads here.
extern "C" void* __real_realloc(void* memory, size_t bytes);
extern "C" void* __wrap_realloc(void* memory, size_t bytes) {
  return no_more ? nullptr : __real_realloc(memory, bytes);
}

// Everything else is made by operator new, which it leads here too: the n-th call of the thread from now
// fails; 0: none.
static thread_local int fail_new = 0;
extern "C" void* __real__Znwm(size_t bytes);
extern "C" void* __wrap__Znwm(size_t bytes) {
  if (fail_new != 0 && --fail_new == 0) throw std::bad_alloc();
  return __real__Znwm(bytes);
}

namespace plat::test {
namespace {

class HostMemoryTest : public PoolTest {
 protected:
  void TearDown() override {
    no_more = false;
    PoolTest::TearDown();
  }
  // As many blocks as the records that there are allow.
  void use_up_records() {
    no_more = true;
    void* block = nullptr;
    plat_pool_status status = PLAT_POOL_OK;
    while ((status = plat_pool_alloc(pool, 40000, &block)) == PLAT_POOL_OK) blocks_.push_back(block);
    ASSERT_EQ(status, PLAT_POOL_NO_MEMORY);
    ASSERT_STREQ(plat_pool_last_error(), "the host has no memory for the records of the pool");
    ASSERT_LT(device().held_bytes, device().capacity_bytes) << "the device is not what is full";
  }
  void release_all() {
    no_more = false;
    for (void* block : blocks_) ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
    EXPECT_EQ(stats().live_blocks, 0u);
    EXPECT_EQ(stats().reserved_bytes, 0u);
  }
  std::vector<void*> blocks_;
};

TEST_F(HostMemoryTest, AResizeThatFailsLeavesTheBlock) {
  create();
  void* big = take(4_MiB);
  use_up_records();
  EXPECT_EQ(plat_pool_resize(pool, big, 2_MiB), PLAT_POOL_NO_MEMORY);
  uint64_t bytes = 0;
  EXPECT_EQ(plat_pool_usable(pool, big, &bytes, nullptr), PLAT_POOL_OK);
  EXPECT_GE(bytes, 4_MiB);
  EXPECT_EQ(plat_pool_free(pool, big), PLAT_POOL_OK) << plat_pool_last_error();
  release_all();
}

TEST_F(HostMemoryTest, ATrimThatFailsLeavesThePagesWhereTheyAre) {
  create();
  void* big = take(20_MiB);
  use_up_records();
  ASSERT_EQ(plat_pool_free(pool, big), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_NO_MEMORY);
  no_more = false;
  big = take(20_MiB);
  std::memset(big, 1, 20_MiB);
  ASSERT_EQ(plat_pool_free(pool, big), PLAT_POOL_OK);
  release_all();
}

TEST_F(HostMemoryTest, AChunkThatCannotBeNotedGoesBack) {
  options.source = PLAT_POOL_SOURCE_MALLOC;
  for (int failing = 1, failed = 1; failed != 0; ++failing) {
    create();
    void* block = nullptr;
    fail_new = failing;
    const plat_pool_status status = plat_pool_alloc(pool, 3_MiB, &block);
    failed = fail_new == 0;
    fail_new = 0;
    ASSERT_EQ(status, failed ? PLAT_POOL_NO_MEMORY : PLAT_POOL_OK) << failing;
    EXPECT_EQ(device().held_bytes, stats().reserved_bytes) << failing;
    if (!failed) {
      ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    }
    block = take(3_MiB);
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK) << failing;
    pool = nullptr;
  }
}

// Small blocks need a span, and a space before it, with records of their own.
TEST_F(HostMemoryTest, ASpaceThatCannotBeNotedLeavesNothingHalf) {
  for (const uint64_t bytes : {uint64_t{100}, 100_KiB})
    for (int failing = 1, failed = 1; failed != 0; ++failing) {
      create();
      void* block = nullptr;
      fail_new = failing;
      const plat_pool_status status = plat_pool_alloc(pool, bytes, &block);
      failed = fail_new == 0;
      fail_new = 0;
      ASSERT_TRUE(status == PLAT_POOL_OK || (failed && status == PLAT_POOL_NO_MEMORY)) << failing;
      if (status != PLAT_POOL_OK) block = take(bytes);
      std::memset(block, 1, bytes);
      EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK) << failing << ": " << plat_pool_last_error();
      EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK) << failing;
      pool = nullptr;
    }
}

TEST_F(HostMemoryTest, GrowthThatFailsKeepsItsPages) {
  create();
  use_up_records();
  void* block = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 9_MiB, &block), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(stats().reserved_bytes, device().held_bytes);
  no_more = false;
  blocks_.push_back(take(9_MiB));
  std::memset(blocks_.back(), 1, 9_MiB);
  release_all();
}

}  // namespace
}  // namespace plat::test
