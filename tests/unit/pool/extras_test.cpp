// Sleep, tags, arenas, the KV cache, decorators and doors.
#include <cstring>
#include <fstream>
#include <utility>

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

TEST_F(PoolTest, StacksDecorators) {
  create();
  plat_pool* limited = nullptr;
  plat_pool* guarded = nullptr;
  plat_pool* faulty = nullptr;
  ASSERT_EQ(plat_pool_with_limit(pool, 1_MiB, &limited), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_guards(limited, 512, &guarded), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_faults(guarded, 2, 0, &faulty), PLAT_POOL_OK);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(plat_pool_alloc(faulty, 1000, &first), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(faulty, 1000, &second), PLAT_POOL_QUOTA);
  ASSERT_EQ(plat_pool_alloc(faulty, 1000, &second), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(faulty, 1_MiB, &second), PLAT_POOL_QUOTA);
  static_cast<char*>(first)[1100] = 1;
  EXPECT_EQ(plat_pool_free(faulty, first), PLAT_POOL_CORRUPT);
  EXPECT_NE(std::string(plat_pool_last_error()).find("100 bytes past its end"), std::string::npos)
      << plat_pool_last_error();
  for (plat_pool* each : {faulty, guarded, limited}) plat_pool_destroy(each);
}

TEST_F(PoolTest, PoisonsNewBlocksAndFreedOnes) {
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 100, &guarded), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_aligned(guarded, 1_MiB, 4096, &block), PLAT_POOL_OK);
  auto* bytes = static_cast<unsigned char*>(block);
  EXPECT_EQ(reinterpret_cast<uint64_t>(block) % 4096, 0u);
  EXPECT_EQ(bytes[0], 0xCD);
  EXPECT_EQ(bytes[1_MiB - 1], 0xCD);
  EXPECT_EQ(plat_pool_free(guarded, block), PLAT_POOL_OK);
  EXPECT_EQ(bytes[0], 0xDD) << "its page is still there";
  ASSERT_EQ(plat_pool_alloc(guarded, 100, &block), PLAT_POOL_OK);
  static_cast<char*>(block)[-1] = 1;
  EXPECT_EQ(plat_pool_free(guarded, block), PLAT_POOL_CORRUPT);
  EXPECT_NE(std::strstr(plat_pool_last_error(), "1 bytes before its start"), nullptr)
      << plat_pool_last_error();
  plat_pool_destroy(guarded);
}

TEST_F(PoolTest, GuardsWaitForWhoeverMayStillUseTheMemory) {
  device().streams_finish = false;
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  auto waits = [before = uint64_t{0}]() mutable {
    return device().synchronizes - std::exchange(before, device().synchronizes);
  };
  ASSERT_EQ(plat_pool_free_on(pool, take(3_MiB, stream(1)), stream(1)), PLAT_POOL_OK);
  waits();
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_on(guarded, 1_MiB, stream(1), &block), PLAT_POOL_OK);
  EXPECT_EQ(waits(), 1u) << "the stream may still work in what it freed";
  for (const int user : {2, 3, 3, 4}) ASSERT_EQ(plat_pool_use_on(guarded, block, stream(user)), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_forget_stream(guarded, stream(4)), PLAT_POOL_OK);
  waits();
  EXPECT_EQ(plat_pool_free_on(guarded, block, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(waits(), 3u) << "its stream and two others; the fourth may be gone";
  plat_pool_destroy(guarded);
}

TEST_F(PoolTest, GuardsKeepAlignmentsAndRefuseSizesThatNobodyHas) {
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 1500, &guarded), PLAT_POOL_OK);
  void* block = nullptr;
  for (const uint64_t alignment : {64u, 1024u, 4096u}) {
    ASSERT_EQ(plat_pool_alloc_aligned(guarded, 100, alignment, &block), PLAT_POOL_OK);
    EXPECT_EQ(reinterpret_cast<uint64_t>(block) % alignment, 0u);
    EXPECT_EQ(plat_pool_free(guarded, block), PLAT_POOL_OK);
  }
  for (const uint64_t bytes : {uint64_t{0}, 1_TiB + 1, UINT64_MAX - 2000, UINT64_MAX})
    EXPECT_EQ(plat_pool_alloc(guarded, bytes, &block), PLAT_POOL_INVALID) << bytes;
  plat_pool_destroy(guarded);
}

TEST_F(PoolTest, GuardsSleepAndWake) {
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  for (const int save : {0, 1}) {
    void* blocks[4] = {};
    for (void*& block : blocks) ASSERT_EQ(plat_pool_alloc_tagged(guarded, 100000, 3, &block), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_sleep(guarded, 3, save), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_free(guarded, blocks[0]), PLAT_POOL_OK) << "and nothing of it is touched";
    ASSERT_EQ(plat_pool_wake(guarded, 3), PLAT_POOL_OK) << plat_pool_last_error();
    EXPECT_EQ(plat_pool_free(guarded, blocks[1]), PLAT_POOL_OK) << plat_pool_last_error();
    static_cast<char*>(blocks[2])[-1] = 1;
    static_cast<char*>(blocks[3])[100100] = 1;
    EXPECT_EQ(plat_pool_free(guarded, blocks[2]), PLAT_POOL_CORRUPT) << "looked at again";
    EXPECT_EQ(plat_pool_free(guarded, blocks[3]), PLAT_POOL_CORRUPT);
  }
  plat_pool_destroy(guarded);
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

TEST_F(PoolTest, CountsWhatPassesAResizeAndAReset) {
  create();
  plat_pool* counted = nullptr;
  ASSERT_EQ(plat_pool_with_statistics(pool, &counted), PLAT_POOL_OK);
  auto used = [&] {
    plat_pool_stats seen;
    plat_pool_get_stats(counted, &seen);
    return seen.used_bytes;
  };
  void* block = nullptr;
  uint64_t held = 0;
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_resize(counted, block, 100_KiB), PLAT_POOL_OK);
  plat_pool_usable(counted, block, nullptr, &held);
  EXPECT_EQ(used(), held);
  EXPECT_EQ(plat_pool_resize(counted, block, 60_MiB), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(used(), held);
  ASSERT_EQ(plat_pool_reset(counted), PLAT_POOL_OK);
  EXPECT_EQ(used(), 0u);
  plat_pool_destroy(counted);
}

TEST_F(PoolTest, TakesNoughtForWhatTheHeaderSays) {
  create();
  plat_pool* nothing = nullptr;
  plat_pool* never = nullptr;
  void* block = nullptr;
  ASSERT_EQ(plat_pool_with_limit(pool, 0, &nothing), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(nothing, 1, &block), PLAT_POOL_QUOTA);
  ASSERT_EQ(plat_pool_with_faults(pool, 0, 0, &never), PLAT_POOL_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(plat_pool_alloc(never, 100, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(pool, 0, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_alloc(pool, (uint64_t{1} << 40) + 1, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_alloc(pool, uint64_t{1} << 40, &block), PLAT_POOL_NO_MEMORY);
  void* last = take(1_MiB);
  EXPECT_EQ(plat_pool_resize(pool, last, 8_MiB), PLAT_POOL_NO_MEMORY) << "its pages are not there yet";
  for (plat_pool* each : {nothing, never}) plat_pool_destroy(each);
}

TEST_F(PoolTest, LimitsKnowWhatCameThroughThem) {
  create();
  plat_pool* limits[2] = {};
  void* block = nullptr;
  void* other = nullptr;
  for (auto& limit : limits) ASSERT_EQ(plat_pool_with_limit(pool, 2_MiB, &limit), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_alloc(limits[0], 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(limits[1], block), PLAT_POOL_NOT_OWNED) << "another limit's";
  EXPECT_NE(std::strstr(plat_pool_last_error(), "came through this limit"), nullptr)
      << plat_pool_last_error();
  EXPECT_EQ(plat_pool_resize(limits[1], block, 100_KiB), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(stats().live_blocks, 1u);
  EXPECT_EQ(plat_pool_alloc(limits[1], 3_MiB / 2, &other), PLAT_POOL_OK) << "nothing was counted down";
  EXPECT_EQ(plat_pool_alloc(limits[1], 1_MiB, &other), PLAT_POOL_QUOTA);
  EXPECT_EQ(plat_pool_free(limits[0], block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(limits[0], block), PLAT_POOL_NOT_OWNED) << "a second time";
  EXPECT_EQ(plat_pool_free(limits[0], nullptr), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(limits[0], 2_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_resize(limits[0], block, 4_MiB), PLAT_POOL_QUOTA);
  EXPECT_EQ(plat_pool_alloc(limits[0], 1, &other), PLAT_POOL_QUOTA);
  EXPECT_EQ(plat_pool_alloc(limits[0], UINT64_MAX, &other), PLAT_POOL_QUOTA) << "no sum wraps around";
  ASSERT_EQ(plat_pool_reset(limits[0]), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(limits[0], block), PLAT_POOL_NOT_OWNED) << "the reset freed it";
  EXPECT_EQ(plat_pool_alloc(limits[0], 2_MiB, &block), PLAT_POOL_OK);
  for (plat_pool* limit : limits) plat_pool_destroy(limit);
}

TEST_F(PoolTest, StatisticsKnowWhatCameThroughThem) {
  create();
  plat_pool* counted = nullptr;
  ASSERT_EQ(plat_pool_with_statistics(pool, &counted), PLAT_POOL_OK);
  auto seen = [&] {
    plat_pool_stats all;
    plat_pool_get_stats(counted, &all);
    return all;
  };
  void* direct = take(1_MiB);
  EXPECT_EQ(plat_pool_free(counted, direct), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_resize(counted, direct, 100_KiB), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(seen().used_bytes, 0u);
  EXPECT_EQ(seen().live_blocks, 0u);
  EXPECT_EQ(stats().live_blocks, 1u) << "the pool has its block yet";
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(counted, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(counted, block), PLAT_POOL_NOT_OWNED) << "a second time";
  EXPECT_EQ(seen().used_bytes, 0u);
  // Freed behind its back: the count is right again once it learns of that.
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(counted, block), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(seen().live_blocks, 0u);
  EXPECT_EQ(seen().used_bytes, 0u);
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  void* again = nullptr;
  uint64_t held = 0;
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &again), PLAT_POOL_OK);
  ASSERT_EQ(again, block);
  plat_pool_usable(counted, again, nullptr, &held);
  EXPECT_EQ(seen().used_bytes, held) << "counted once";
  EXPECT_EQ(seen().live_blocks, 1u);
  plat_pool_destroy(counted);
}

// A broken guard is told, but the block is freed: it no longer counts.
TEST_F(PoolTest, LimitsForgetABlockWithABrokenGuard) {
  create();
  plat_pool* guarded = nullptr;
  plat_pool* limited = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_limit(guarded, 1_MiB, &limited), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc(limited, 900_KiB, &block), PLAT_POOL_OK);
  static_cast<char*>(block)[-1] = 1;
  EXPECT_EQ(plat_pool_free(limited, block), PLAT_POOL_CORRUPT);
  EXPECT_EQ(plat_pool_alloc(limited, 900_KiB, &block), PLAT_POOL_OK) << plat_pool_last_error();
  for (plat_pool* each : {limited, guarded}) plat_pool_destroy(each);
}

TEST_F(PoolTest, WritesATraceThatReplayReads) {
  create();
  const std::string path = ::testing::TempDir() + "pool_trace.csv";
  std::remove(path.c_str());
  plat_pool* traced = nullptr;
  ASSERT_EQ(plat_pool_with_trace(pool, path.c_str(), &traced), PLAT_POOL_OK);
  void* block = nullptr;
  void* host = nullptr;
  plat_pool_alloc(traced, 777, &block);
  plat_pool_free(traced, block);
  plat_pool_alloc_for(traced, 100, PLAT_POOL_HOST, &host);
  plat_pool_alloc_on(traced, 5_MiB, stream(4), &block);
  plat_pool_use_on(traced, block, stream(5));
  plat_pool_use_on(traced, block, stream(6));
  plat_pool_forget_stream(traced, stream(6));
  plat_pool_resize(traced, block, 1_MiB);
  plat_pool_free_on(traced, block, stream(4));
  plat_pool_free(traced, host);
  plat_pool_alloc(traced, 64, &block);
  plat_pool_reset(traced);
  plat_pool_destroy(traced);
  std::ifstream file(path);
  std::string line;
  for (const char* expected : {"a,1,777,0,", "f,1,0,0,", "a,2,5242880,1,", "u,2,0,2,", "u,2,0,3,", "f,2,0,1,",
                               "a,3,1048576,1,", "u,3,0,2,", "f,3,0,1,", "a,4,64,0,", "f,4,0,0,"}) {
    std::getline(file, line);
    EXPECT_EQ(line.substr(0, std::string(expected).size()), expected);
  }
  EXPECT_FALSE(std::getline(file, line));
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

}  // namespace
}  // namespace plat::test
