// SPDX-License-Identifier: Apache-2.0
// Sleep, tags, arenas, the KV cache and doors.
#include <cstring>
#include <utility>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

TEST_F(PoolTest, SleepsAndWakesWithItsContents) {
  create();
  void* large = take(5_MiB);
  void* small = take(100);
  std::memset(large, 7, 5_MiB);
  std::memset(small, 9, 100);
  ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 1), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(device().held_bytes, 0u);
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 100, &address), PLAT_POOL_ASLEEP);
  EXPECT_EQ(plat_pool_alloc(pool, 1_MiB, &address), PLAT_POOL_ASLEEP);
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK);
  EXPECT_EQ(static_cast<char*>(large)[5_MiB - 1], 7);
  EXPECT_EQ(static_cast<char*>(small)[99], 9);
}

TEST_F(PoolTest, HandsOutNothingThatSleeps) {
  create();
  void* small = take(100);
  void* large = take(100_KiB);
  ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 0), PLAT_POOL_OK);
  // A free is only bookkeeping. The block is the thread's then, but without memory behind it.
  ASSERT_EQ(plat_pool_free(pool, small), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_free(pool, large), PLAT_POOL_OK);
  for (const uint64_t bytes : {uint64_t{100}, 100_KiB}) {
    void* block = nullptr;
    EXPECT_EQ(plat_pool_alloc(pool, bytes, &block), PLAT_POOL_ASLEEP);
    EXPECT_EQ(block, nullptr);
  }
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK);
  EXPECT_EQ(take(100), small);
}

TEST_F(PoolTest, StaysAsleepWhenTheMemoryIsGone) {
  create();
  void* block = take(40_MiB);
  static_cast<char*>(block)[0] = 5;
  ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 1), PLAT_POOL_OK);
  device().capacity_bytes = 30_MiB;
  EXPECT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(device().held_bytes, 0u);
  device().capacity_bytes = 64_MiB;
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK);
  EXPECT_EQ(static_cast<char*>(block)[0], 5);
}

TEST_F(PoolTest, CountsTagsAndSendsOneToSleepAlone) {
  create();
  void* cache = nullptr;
  void* weights = take(3_MiB);
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 7_MiB, 3, &cache), PLAT_POOL_OK);
  uint64_t used = 0;
  uint64_t reserved = 0;
  plat_pool_tag_bytes(pool, 3, &used, &reserved);
  EXPECT_GE(used, 7_MiB);
  EXPECT_EQ(reserved, 8_MiB);
  ASSERT_EQ(plat_pool_sleep(pool, 3, 0), PLAT_POOL_OK);
  EXPECT_EQ(device().held_bytes, 4_MiB);
  std::memset(weights, 1, 3_MiB);
  ASSERT_EQ(plat_pool_wake(pool, 3), PLAT_POOL_OK);
  std::memset(cache, 1, 7_MiB);
}

TEST_F(PoolTest, BacksACacheAsTokensCome) {
  create();
  plat_kv_cache* cache = nullptr;
  ASSERT_EQ(plat_kv_create(pool, 64_KiB, 100000, &cache), PLAT_POOL_OK);
  EXPECT_EQ(plat_kv_backed_bytes(cache), 0u);
  ASSERT_EQ(plat_kv_set_tokens(cache, 100), PLAT_POOL_OK);
  EXPECT_EQ(plat_kv_backed_bytes(cache), 8_MiB);
  std::memset(plat_kv_base(cache), 1, 100 * 64_KiB + 32);
  EXPECT_EQ(plat_kv_set_tokens(cache, 5000), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(plat_kv_backed_bytes(cache), 8_MiB);
  ASSERT_EQ(plat_kv_set_tokens(cache, 1), PLAT_POOL_OK);
  EXPECT_EQ(plat_kv_backed_bytes(cache), 2_MiB);
  EXPECT_EQ(plat_kv_set_tokens(cache, 100001), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_kv_destroy(cache), PLAT_POOL_OK);
}

TEST_F(PoolTest, FreesAnArenaInOneCall) {
  create();
  plat_arena* arena = nullptr;
  ASSERT_EQ(plat_arena_create(pool, 1_MiB, &arena), PLAT_POOL_OK);
  char* last = nullptr;
  for (int i = 0; i < 1000; ++i) {
    void* block = nullptr;
    ASSERT_EQ(plat_arena_alloc(arena, 5000, 0, &block), PLAT_POOL_OK);
    EXPECT_NE(block, last);
    last = static_cast<char*>(block);
    std::memset(block, i, 5032);
  }
  EXPECT_EQ(plat_arena_destroy(arena), PLAT_POOL_OK);
  EXPECT_EQ(stats().used_bytes, 0u);
}

TEST_F(PoolTest, FreesNestedArenasWithTheOuterOneOrBefore) {
  create();
  plat_arena* outer = nullptr;
  plat_arena* inner[3] = {};
  plat_arena* innermost = nullptr;
  void* block = nullptr;
  ASSERT_EQ(plat_arena_create(pool, 1_MiB, &outer), PLAT_POOL_OK);
  for (auto& arena : inner) {
    ASSERT_EQ(plat_arena_nest(outer, 256_KiB, &arena), PLAT_POOL_OK);
    ASSERT_EQ(plat_arena_alloc(arena, 100_KiB, 0, &block), PLAT_POOL_OK);
  }
  ASSERT_EQ(plat_arena_alloc(outer, 500_KiB, 4096, &block), PLAT_POOL_OK);
  EXPECT_EQ(reinterpret_cast<uint64_t>(block) % 4096, 0u);
  ASSERT_EQ(plat_arena_nest(inner[1], 0, &innermost), PLAT_POOL_OK);
  ASSERT_EQ(plat_arena_alloc(innermost, 100_KiB, 0, &block), PLAT_POOL_OK);
  EXPECT_EQ(stats().live_blocks, 5u);
  EXPECT_EQ(plat_arena_destroy(inner[0]), PLAT_POOL_OK);
  EXPECT_EQ(stats().live_blocks, 4u);
  EXPECT_EQ(plat_arena_destroy(inner[1]), PLAT_POOL_OK) << "with the one inside it";
  EXPECT_EQ(stats().live_blocks, 2u);
  EXPECT_EQ(plat_arena_reset(outer), PLAT_POOL_OK);
  EXPECT_EQ(stats().live_blocks, 1u) << "the chunk of the outer one stays for the next round";
  void* again = nullptr;
  ASSERT_EQ(plat_arena_alloc(outer, 500_KiB, 4096, &again), PLAT_POOL_OK);
  EXPECT_EQ(stats().live_blocks, 1u);
  ASSERT_EQ(plat_arena_nest(outer, 0, &inner[0]), PLAT_POOL_OK);
  ASSERT_EQ(plat_arena_alloc(inner[0], 1, 0, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_arena_destroy(outer), PLAT_POOL_OK);
  EXPECT_EQ(stats().live_blocks, 0u);
}

TEST_F(PoolTest, ArenasLetGoOfWhatAResetHasFreed) {
  create();
  plat_pool* decorated = nullptr;
  ASSERT_EQ(plat_pool_with_statistics(pool, &decorated), PLAT_POOL_OK);
  plat_arena* outer = nullptr;
  plat_arena* inner = nullptr;
  ASSERT_EQ(plat_arena_create(decorated, 1_MiB, &outer), PLAT_POOL_OK);
  ASSERT_EQ(plat_arena_nest(outer, 0, &inner), PLAT_POOL_OK);
  void* block = nullptr;
  for (plat_arena* arena : {outer, inner}) ASSERT_EQ(plat_arena_alloc(arena, 1000, 0, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
  void* const others[] = {take(1_MiB), take(1_MiB)};
  ASSERT_EQ(plat_arena_alloc(outer, 1000, 0, &block), PLAT_POOL_OK);
  for (void* other : others)
    EXPECT_GE(reinterpret_cast<uint64_t>(block) - reinterpret_cast<uint64_t>(other), 1_MiB);
  EXPECT_EQ(plat_arena_destroy(outer), PLAT_POOL_OK);
  for (void* other : others) EXPECT_EQ(plat_pool_free(pool, other), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(stats().live_blocks, 0u);
  plat_pool_destroy(decorated);
}

TEST_F(PoolTest, ArenasKeepTheTailOfThePoolAndSleepWithIt) {
  options.tail_bytes = 64;
  create();
  plat_arena* arena = nullptr;
  ASSERT_EQ(plat_arena_create(pool, 1_MiB, &arena), PLAT_POOL_OK);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(plat_arena_alloc(arena, 96, 0, &first), PLAT_POOL_OK);
  ASSERT_EQ(plat_arena_alloc(arena, 96, 0, &second), PLAT_POOL_OK);
  EXPECT_GE(static_cast<char*>(second) - static_cast<char*>(first), 96 + 64);
  ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 1), PLAT_POOL_OK);
  EXPECT_EQ(plat_arena_alloc(arena, 96, 0, &second), PLAT_POOL_ASLEEP);
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK);
  EXPECT_EQ(plat_arena_alloc(arena, 96, 0, &second), PLAT_POOL_OK);
  EXPECT_EQ(plat_arena_destroy(arena), PLAT_POOL_OK);
}

TEST_F(PoolTest, SleepsByTagWhileOthersWork) {
  create();
  void* tagged[2] = {};
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 100, 3, &tagged[0]), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 5_MiB, 3, &tagged[1]), PLAT_POOL_OK);
  std::memset(tagged[0], 1, 100);
  std::memset(tagged[1], 2, 5_MiB);
  ASSERT_EQ(plat_pool_sleep(pool, 3, 1), PLAT_POOL_OK);
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc_tagged(pool, 100, 3, &address), PLAT_POOL_ASLEEP);
  EXPECT_EQ(plat_pool_alloc_tagged(pool, 100, 4, &address), PLAT_POOL_OK);
  void* elsewhere = take(50_MiB);
  EXPECT_NE(elsewhere, nullptr) << "the memory that sleeps is there for others";
  EXPECT_EQ(plat_pool_wake(pool, 3), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(plat_pool_free(pool, elsewhere), PLAT_POOL_OK);
  EXPECT_EQ(static_cast<char*>(tagged[0])[99], 1);
  EXPECT_EQ(static_cast<char*>(tagged[1])[5_MiB - 1], 2);
  EXPECT_EQ(plat_pool_free(pool, tagged[0]), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, tagged[1]), PLAT_POOL_OK);
}

TEST_F(PoolTest, RegistersItselfOnAStream) {
  create();
  EXPECT_EQ(plat_pool_register_on_stream(pool, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_register_on_stream(pool, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_unregister_from_stream(stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_register_on_stream(pool, nullptr), PLAT_POOL_INVALID);
}

TEST_F(PoolTest, TakesItselfOffItsStreamsWhenItEnds) {
  create();
  plat_pool* other = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &other), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_register_on_stream(pool, stream(1)), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_register_on_stream(other, stream(2)), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_register_on_stream(other, stream(3)), PLAT_POOL_OK);
  EXPECT_EQ(device().allocators(), 3u);
  ASSERT_EQ(plat_pool_destroy(other), PLAT_POOL_OK);
  EXPECT_EQ(device().allocators(), 1u) << "the pool that is left keeps its stream";
  ASSERT_EQ(plat_pool_unregister_from_stream(stream(1)), PLAT_POOL_OK);
}

TEST_F(PoolTest, CountsWhatSleepsApart) {
  create();
  void* cache = nullptr;
  take(3_MiB);
  take(1000);
  const uint64_t awake = stats().used_bytes;
  for (uint64_t bytes : {uint64_t{1000}, 7_MiB})
    ASSERT_EQ(plat_pool_alloc_tagged(pool, bytes, 3, &cache), PLAT_POOL_OK);
  const uint64_t all = stats().used_bytes;
  const uint64_t peak = stats().used_peak;
  ASSERT_EQ(plat_pool_sleep(pool, 3, 0), PLAT_POOL_OK);
  EXPECT_EQ(stats().used_bytes, awake);
  EXPECT_EQ(stats().asleep_bytes, all - awake);
  EXPECT_LE(stats().used_bytes, stats().reserved_bytes);
  uint64_t used = 1;
  uint64_t reserved = 1;
  plat_pool_tag_bytes(pool, 3, &used, &reserved);
  EXPECT_EQ(used, 0u);
  EXPECT_EQ(reserved, 0u);
  take(6_MiB);  // no more than there was before
  EXPECT_EQ(stats().used_peak, peak);
  ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 0), PLAT_POOL_OK);
  EXPECT_EQ(stats().used_bytes, 0u);
  ASSERT_EQ(plat_pool_free(pool, cache), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK);
  EXPECT_EQ(stats().asleep_bytes, 0u);
  EXPECT_EQ(stats().live_blocks, 4u);
  EXPECT_GT(stats().used_bytes, awake);
}

#ifndef __SANITIZE_THREAD__  // which leaves a program about a tenth of the addresses that this is about
// Addresses are short where many want some, 8 TiB for a whole process: the first ranges are long, later ones
// what is left allows.
TEST_F(PoolTest, LeavesAddressesToOthers) {
  device().capacity_bytes = 64_GiB;
  device().backed = false;
  create();
  void* block = nullptr;
  for (uint16_t tag = 1; tag <= 200; ++tag)
    ASSERT_EQ(plat_pool_alloc_tagged(pool, 1_MiB, tag, &block), PLAT_POOL_OK);
  uint64_t addresses = stats().address_bytes;
  std::vector<plat_pool*> others(200);
  for (plat_pool*& other : others) {
    ASSERT_EQ(plat_pool_create(&options, &other), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_alloc(other, 100, &block), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_alloc(other, 1_MiB, &block), PLAT_POOL_OK);
    addresses += stats_of(other).address_bytes;
  }
  EXPECT_LE(addresses, 8_TiB);
  for (plat_pool* other : others) EXPECT_EQ(plat_pool_destroy(other), PLAT_POOL_OK);
  // A program that needs it gets it: each further range is longer.
  for (int i = 0; i < 12; ++i) ASSERT_EQ(plat_pool_alloc_tagged(pool, 4_GiB, 1, &block), PLAT_POOL_OK);
  EXPECT_GT(stats().address_bytes, 848_GiB);
}
#endif

}  // namespace
}  // namespace plat::test
