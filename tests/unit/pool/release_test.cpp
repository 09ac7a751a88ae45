// SPDX-License-Identifier: Apache-2.0
// When memory that holds nothing goes back to the device: never, above a watermark, now, after a while.
#include <random>
#include <utility>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

TEST_F(PoolTest, KeepsWhatItHoldsUntilItIsTrimmed) {
  options.release = PLAT_POOL_RELEASE_NEVER;
  create();
  plat_pool_free(pool, take(20_MiB));
  EXPECT_GE(stats().reserved_bytes, 20_MiB);
  EXPECT_EQ(stats().idle_bytes, stats().reserved_bytes);
  EXPECT_EQ(plat_pool_trim(pool, 6_MiB), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 6_MiB);
  EXPECT_EQ(device().held_bytes, 6_MiB);
}

TEST_F(PoolTest, GivesBackWhatIsIdleAboveTheWatermark) {
  options.release = PLAT_POOL_RELEASE_WATERMARK;
  options.release_watermark = 8_MiB;
  create();
  void* kept = take(3_MiB);
  void* small = take(6_MiB);
  void* large = take(20_MiB);
  plat_pool_free(pool, small);
  EXPECT_LE(stats().idle_bytes, 8_MiB);
  EXPECT_GE(stats().idle_bytes, 4_MiB) << "below it, nothing goes";
  plat_pool_free(pool, large);
  EXPECT_EQ(stats().idle_bytes, 8_MiB);
  plat_pool_free(pool, kept);
  EXPECT_EQ(stats().reserved_bytes, 8_MiB);
}

// Places are counted with 32 bits, which reach for 2 TiB at once but not for all that ever was.
TEST_F(PoolTest, TakesMoreChunksOverTimeThanItHasPlacesFor) {
  device().backed = false;
  device().capacity_bytes = 64_GiB;
  for (const plat_pool_source source : {PLAT_POOL_SOURCE_MALLOC, PLAT_POOL_SOURCE_HOST}) {
    options.source = source;
    options.release = PLAT_POOL_RELEASE_NOW;
    create();
    for (uint64_t round = 0; round < 3000; ++round) {
      void* block = nullptr;
      const uint64_t bytes = 1_GiB + round % 7 * 100_MiB;
      ASSERT_EQ(plat_pool_alloc(pool, bytes, &block), PLAT_POOL_OK) << round << plat_pool_last_error();
      void* small = round % 16 == 0 ? take(100) : nullptr;
      ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
      ASSERT_EQ(plat_pool_free(pool, small), PLAT_POOL_OK);
      ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
    }
    plat_pool_trim(pool, 0);
    EXPECT_EQ(stats().reserved_bytes, 0u);
    EXPECT_EQ(device().held_bytes, 0u);
    plat_pool_destroy(pool);
    pool = nullptr;
  }
}

// A place that is gone serves what fits into it, and nothing is found in it that is not there.
TEST_F(PoolTest, ReusesThePlacesOfChunksOfAnySize) {
  options.source = PLAT_POOL_SOURCE_MALLOC;
  options.release = PLAT_POOL_RELEASE_NOW;
  options.chunk_bytes = 2_MiB;
  create();
  std::mt19937_64 random(3);
  std::vector<std::pair<char*, uint64_t>> live;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 == 0 && live.size() < 12) {
      const uint64_t bytes = random() % 4 == 0 ? 100 + random() % 3000 : 40_KiB + random() % 5_MiB;
      void* block = nullptr;
      if (plat_pool_alloc(pool, bytes, &block) != PLAT_POOL_OK) continue;
      live.emplace_back(static_cast<char*>(block), bytes);
      for (const uint64_t at : {uint64_t{0}, bytes / 2, bytes - 1})
        live.back().first[at] = static_cast<char>(bytes);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      const auto [block, bytes] = live.back();
      live.pop_back();
      for (const uint64_t at : {uint64_t{0}, bytes / 2, bytes - 1})
        ASSERT_EQ(block[at], static_cast<char>(bytes)) << step;
      ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK) << plat_pool_last_error();
    }
    ASSERT_EQ(stats().live_blocks, live.size());
  }
  EXPECT_GT(device().mallocs, 500u) << "chunks come and go";
}

TEST_F(PoolTest, CountsWhatIsIdleInAllTags) {
  options.release = PLAT_POOL_RELEASE_WATERMARK;
  options.release_watermark = 8_MiB;
  create();
  void* blocks[4] = {};
  for (uint16_t tag = 0; tag < 4; ++tag)
    ASSERT_EQ(plat_pool_alloc_tagged(pool, 6_MiB - 4096, tag, &blocks[tag]), PLAT_POOL_OK);
  for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 8_MiB);
}

TEST_F(PoolTest, GivesBackAtOnceHoweverMemoryBecomesIdle) {
  options.release = PLAT_POOL_RELEASE_NOW;
  options.thread_cache = 0;
  create();
  void* block = take(20_MiB);
  EXPECT_EQ(plat_pool_resize(pool, block, 1_MiB), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 2_MiB) << "by a resize";
  plat_kv_cache* cache = nullptr;
  ASSERT_EQ(plat_kv_create(pool, 64_KiB, 1000, &cache), PLAT_POOL_OK);
  ASSERT_EQ(plat_kv_set_tokens(cache, 200), PLAT_POOL_OK);
  ASSERT_EQ(plat_kv_set_tokens(cache, 0), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 2_MiB) << "by a cache";
  EXPECT_EQ(plat_kv_destroy(cache), PLAT_POOL_OK);
  void* on_stream = take(10_MiB, stream(1));
  plat_pool_free_on(pool, on_stream, stream(1));
  EXPECT_EQ(plat_pool_forget_stream(pool, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 2_MiB) << "by a stream that ends";
  for (int i = 0; i < 100; ++i) take(1000);
  EXPECT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 0u) << "by a reset";
  EXPECT_EQ(device().held_bytes, 0u);
}

TEST_F(PoolTest, TakesWhatStreamsOfAnotherPoolHavePassed) {
  create();
  plat_pool* other = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &other), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_on(other, 40_MiB, stream(1), &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free_on(other, block, stream(1)), PLAT_POOL_OK);
  EXPECT_NE(take(40_MiB), nullptr);
  EXPECT_EQ(plat_pool_destroy(other), PLAT_POOL_OK);
}

}  // namespace
}  // namespace plat::test
