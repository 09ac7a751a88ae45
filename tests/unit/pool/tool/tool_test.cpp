// SPDX-License-Identifier: Apache-2.0
// What a tool of mstx hears of a pool. The program is the tool itself: one that exports this symbol is found
// when no other is named.
#include "pool/pool.h"
#include "pool/tool_batch.h"
#include "unit/mstx/fake_tool.h"
#include "unit/pool/pool_fixture.h"

using Tool = plat::mstx::test::FakeTool<1>;

extern "C" [[gnu::visibility("default")]] int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table) {
  return Tool::init(get_table);
}

namespace plat::test {
namespace {

using ToolTest = PoolTest;

TEST_F(ToolTest, HearsOfHeapsAndRegionsUnderTheNameOfThePool) {
  options.name = "kv-cache";
  create();
  void* small = take(100);
  void* large = take(3_MiB);
  auto& books = Tool::books;
  ASSERT_EQ(books.regions.size(), 2u);
  EXPECT_EQ(books.heaps.size(), 2u);
  for (const auto& [handle, region] : books.regions)
    EXPECT_EQ(books.domains[region.domain], "plat_pool_kv_cache");
  EXPECT_EQ(plat_pool_free(pool, small), PLAT_POOL_OK);
  ASSERT_EQ(books.regions.size(), 1u);
  EXPECT_EQ(books.regions.begin()->second.start, large);
  EXPECT_EQ(books.regions.begin()->second.size, 3_MiB);
  EXPECT_EQ(plat_pool_free(pool, large), PLAT_POOL_OK);
  EXPECT_TRUE(books.regions.empty());
}

// A thread that found the short way open, and was held up until the tool knew of the memory.
TEST_F(ToolTest, HearsOfEveryBlockOfAHeapThatItKnows) {
  create();
  pool::Pool* const open = pool->fast.large;
  ASSERT_NE(open, nullptr) << "nobody listens yet";
  take(3_MiB);
  void* late = nullptr;
  EXPECT_FALSE(open->allocate_at_once(500_KiB, nullptr, &late));
  EXPECT_FALSE(open->allocate_at_once(500_KiB, stream(1), &late));
  EXPECT_EQ(stats().live_blocks, Tool::books.regions.size());
}

TEST_F(ToolTest, HearsInOneCallThatAResetFreesEverything) {
  create();
  void* freed = take(100);
  for (uint64_t bytes : {uint64_t{64}, uint64_t{100}, uint64_t{5000}, 40_KiB, 3_MiB}) take(bytes);
  EXPECT_EQ(plat_pool_free(pool, freed), PLAT_POOL_OK);
  auto& books = Tool::books;
  ASSERT_EQ(books.regions.size(), 5u);
  const int calls = books.unregister_calls;
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_TRUE(books.regions.empty());
  EXPECT_EQ(books.unregister_calls, calls + 1);
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
}

TEST_F(ToolTest, HearsOnceOfABlockThatWaitsForItsStreams) {
  device().streams_finish = false;
  create();
  auto& books = Tool::books;
  for (uint64_t bytes : {uint64_t{300}, 5_MiB}) {
    void* block = take(bytes, stream(1));
    ASSERT_EQ(plat_pool_use_on(pool, block, stream(2)), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_NOT_OWNED);
  }
  take(3_MiB);
  ASSERT_EQ(books.regions.size(), 1u);
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
  EXPECT_TRUE(books.regions.empty());
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
  device().finish();
}

TEST_F(ToolTest, HearsNothingOfAFreeThatIsRefused) {
  create();
  auto* block = static_cast<char*>(take(5_MiB));
  const int calls = Tool::books.unregister_calls;
  EXPECT_EQ(plat_pool_free(pool, block + 512), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(Tool::books.unregister_calls, calls);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(Tool::books.unregister_calls, calls + 1);
  EXPECT_TRUE(Tool::books.mistakes.empty()) << Tool::books.mistakes.front();
}

TEST_F(ToolTest, HearsOfTheNewSizeOfABlock) {
  create();
  auto& books = Tool::books;
  for (uint64_t bytes : {uint64_t{500}, 5_MiB}) {
    void* block = take(bytes);
    ASSERT_EQ(plat_pool_resize(pool, block, bytes / 2), PLAT_POOL_OK);
    ASSERT_EQ(books.regions.size(), 1u);
    EXPECT_EQ(books.regions.begin()->second.size, bytes / 2);
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  }
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
}

TEST_F(ToolTest, HearsOfSeveralBlocksInOneCall) {
  create();
  auto& books = Tool::books;
  const uint64_t sizes[] = {100_KiB, 200_KiB, 3_MiB, 40_KiB};
  void* blocks[4] = {};
  int register_calls = 0;
  Tool::habits.during_region = [&] { ++register_calls; };
  ASSERT_EQ(plat_pool_alloc_batch(pool, sizes, 4, nullptr, blocks), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(register_calls, 1);
  EXPECT_EQ(books.regions.size(), 4u);
  const int calls = books.unregister_calls;
  void* with_a_wrong_one[] = {blocks[0], blocks[1], blocks[1], blocks[2], blocks[3]};
  EXPECT_EQ(plat_pool_free_batch(pool, with_a_wrong_one, 5, nullptr), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(books.unregister_calls, calls + 1);
  EXPECT_TRUE(books.regions.empty());
  EXPECT_EQ(stats().live_blocks, 0u);
  const uint64_t too_much[] = {1_MiB, 100_MiB, 1_MiB};
  EXPECT_EQ(plat_pool_alloc_batch(pool, too_much, 3, nullptr, blocks), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(blocks[0], nullptr);
  EXPECT_EQ(stats().live_blocks, 0u) << "all or none";
  EXPECT_TRUE(books.regions.empty());
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
  Tool::habits.during_region = nullptr;
}

TEST_F(ToolTest, HearsAtOnceOfWhatHappensInAnInterlude) {
  create();
  auto& books = Tool::books;
  void* blocks[] = {take(3_MiB), take(100), take(5_MiB)};
  plat::pool::ToolBatch batch;
  {
    const plat::pool::ToolSilence quiet;
    const plat::pool::OutsideBatch interlude;
    EXPECT_EQ(plat_pool_free(pool, blocks[0]), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_free(pool, blocks[1]), PLAT_POOL_OK);
    EXPECT_EQ(stats().live_blocks, 1u) << "free, and not only noted";
    EXPECT_EQ(books.regions.size(), 1u);
  }
  EXPECT_FALSE(plat::pool::ToolSilence::on());
  EXPECT_EQ(plat_pool_free(pool, blocks[2]), PLAT_POOL_OK);
  EXPECT_EQ(books.regions.size(), 1u) << "the batch goes on";
  EXPECT_EQ(batch.finish(), PLAT_POOL_OK);
  EXPECT_TRUE(books.regions.empty());
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
}

TEST_F(ToolTest, HearsOfTheBlocksOfAnArenaAndOfTheirEndInOneCall) {
  create();
  auto& books = Tool::books;
  plat_arena* outer = nullptr;
  plat_arena* inner = nullptr;
  ASSERT_EQ(plat_arena_create(pool, 64_KiB, &outer), PLAT_POOL_OK);
  ASSERT_EQ(plat_arena_nest(outer, 0, &inner), PLAT_POOL_OK);
  void* block = nullptr;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(plat_arena_alloc(outer, 10000, 0, &block), PLAT_POOL_OK);
    ASSERT_EQ(plat_arena_alloc(inner, 10000, 0, &block), PLAT_POOL_OK);
  }
  EXPECT_EQ(books.regions.size(), 40u);
  for (const auto& [handle, region] : books.regions) EXPECT_EQ(region.size, 10000u);
  const int calls = books.unregister_calls;
  EXPECT_EQ(plat_arena_destroy(outer), PLAT_POOL_OK);
  EXPECT_EQ(books.unregister_calls, calls + 1);
  EXPECT_TRUE(books.regions.empty());
  EXPECT_EQ(stats().used_bytes, 0u);
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
}

TEST_F(ToolTest, HearsOnceThatAResetEndsTheBlocksOfAnArena) {
  create();
  plat_arena* arena = nullptr;
  void* block = nullptr;
  ASSERT_EQ(plat_arena_create(pool, 1_MiB, &arena), PLAT_POOL_OK);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(plat_arena_alloc(arena, 100, 0, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_arena_reset(arena), PLAT_POOL_OK);
  take(3_MiB);
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
  EXPECT_TRUE(Tool::books.regions.empty());
  for (int i = 0; i < 3; ++i) ASSERT_EQ(plat_arena_alloc(arena, 100, 0, &block), PLAT_POOL_OK);
  EXPECT_EQ(Tool::books.regions.size(), 3u);
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
  EXPECT_TRUE(Tool::books.regions.empty());
  ASSERT_EQ(plat_arena_alloc(arena, 100, 0, &block), PLAT_POOL_OK);
  EXPECT_EQ(Tool::books.regions.size(), 1u);
  EXPECT_EQ(plat_arena_destroy(arena), PLAT_POOL_OK);
  EXPECT_TRUE(Tool::books.regions.empty());
  EXPECT_TRUE(Tool::books.mistakes.empty()) << Tool::books.mistakes.front();
}

TEST_F(ToolTest, HearsOfWhatACallbackFreesInABatchOrAnArena) {
  options.limit_bytes = 16_MiB;
  create();
  auto& books = Tool::books;
  void* spare = nullptr;
  plat_pool_set_oom_callback(
      pool,
      [](void* user, plat_pool* from, uint64_t, const char*) {
        void*& block = *static_cast<void**>(user);
        const bool any = block != nullptr;
        plat_pool_free(from, std::exchange(block, nullptr));
        return static_cast<int>(any);
      },
      &spare);
  spare = take(12_MiB);
  const uint64_t sizes[] = {1_MiB, 8_MiB};
  void* blocks[2] = {};
  ASSERT_EQ(plat_pool_alloc_batch(pool, sizes, 2, nullptr, blocks), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(books.regions.size(), 2u);
  ASSERT_EQ(plat_pool_free_batch(pool, blocks, 2, nullptr), PLAT_POOL_OK);
  spare = take(12_MiB);
  plat_arena* arena = nullptr;
  void* piece = nullptr;
  ASSERT_EQ(plat_arena_create(pool, 8_MiB, &arena), PLAT_POOL_OK);
  ASSERT_EQ(plat_arena_alloc(arena, 100, 0, &piece), PLAT_POOL_OK) << plat_pool_last_error();
  ASSERT_EQ(books.regions.size(), 1u);
  EXPECT_EQ(books.regions.begin()->second.start, piece);
  EXPECT_EQ(plat_arena_destroy(arena), PLAT_POOL_OK);
  EXPECT_TRUE(books.regions.empty());
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
}

TEST_F(ToolTest, HearsOfTheTokensOfACache) {
  create();
  auto& books = Tool::books;
  plat_kv_cache* cache = nullptr;
  ASSERT_EQ(plat_kv_create(pool, 64_KiB, 1000, &cache), PLAT_POOL_OK);
  EXPECT_EQ(books.heaps.size(), 1u);
  for (const uint64_t tokens : {10u, 100u, 3u}) {
    ASSERT_EQ(plat_kv_set_tokens(cache, tokens), PLAT_POOL_OK);
    ASSERT_EQ(books.regions.size(), 1u);
    EXPECT_EQ(books.regions.begin()->second.size, tokens * 64_KiB);
  }
  ASSERT_EQ(plat_kv_set_tokens(cache, 0), PLAT_POOL_OK);
  EXPECT_TRUE(books.regions.empty());
  ASSERT_EQ(plat_kv_destroy(cache), PLAT_POOL_OK);
  EXPECT_TRUE(books.heaps.empty());
  EXPECT_TRUE(books.mistakes.empty()) << books.mistakes.front();
}

}  // namespace
}  // namespace plat::test
