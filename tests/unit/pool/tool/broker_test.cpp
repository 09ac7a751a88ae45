// SPDX-License-Identifier: Apache-2.0
// What a tool hears that knows Plat's extension of mstx: names, sizes, resets. It attaches through
// libms_tools_ext.so.
#include <set>
#include <string>

#include "unit/mstx/fake_tool.h"
#include "unit/pool/pool_fixture.h"

namespace plat::test {
namespace {

using Tool = plat::mstx::test::FakeTool<1>;

class BrokerTest : public PoolTest {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    Tool::reset();
    Tool::habits.extensions = true;
    ASSERT_EQ(platMstxAttachFunction(Tool::init, "test", &id), PLAT_MSTX_OK);
  }
  void TearDown() override {
    PoolTest::TearDown();
    EXPECT_TRUE(Tool::books.mistakes.empty()) << Tool::books.mistakes.front();
    EXPECT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
  }
  static std::string name_of(const void* address) {
    for (const auto& [handle, region] : Tool::books.regions)
      if (region.start == address) return region.name;
    return "no such region";
  }
  platMstxToolId_t id = 0;
};

TEST_F(BrokerTest, HearsTheNamesOfHeapsAndRegions) {
  options.name = "engine";
  options.chunk_bytes = 4_MiB;
  create();
  take(100);
  void* weights = take(3_MiB);
  EXPECT_EQ(plat_pool_name_block(pool, weights, "weights of layer 3"), PLAT_POOL_OK);
  void* tagged = nullptr;
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 1_MiB, 7, &tagged), PLAT_POOL_OK);
  void* host = nullptr;
  ASSERT_EQ(plat_pool_alloc_for(pool, 1_MiB, PLAT_POOL_HOST, &host), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_name_block(pool, host, "staging"), PLAT_POOL_OK);
  std::set<std::string> heaps;
  for (const auto& [handle, heap] : Tool::books.heaps) heaps.insert(heap.name);
  EXPECT_EQ(heaps, (std::set<std::string>{"engine: small blocks", "engine: large blocks",
                                          "engine: large blocks of tag 7", "engine_host: large blocks"}));
  EXPECT_EQ(name_of(weights), "weights of layer 3");
  EXPECT_EQ(name_of(tagged), "tag 7");
  EXPECT_EQ(name_of(host), "staging");
  EXPECT_EQ(plat_pool_name_block(pool, &host, "nothing"), PLAT_POOL_NOT_OWNED);
}

TEST_F(BrokerTest, HearsOfHeapsThatEndWhereTheRequestDid) {
  options.chunk_bytes = 4_MiB;
  for (const plat_pool_source source :
       {PLAT_POOL_SOURCE_MALLOC, PLAT_POOL_SOURCE_CACHED, PLAT_POOL_SOURCE_MEDIA}) {
    options.source = source;
    create();
    take(1_MiB);
    ASSERT_EQ(Tool::books.heaps.size(), 1u);
    // A chunk that does not start at a page is used from the next one on.
    const uint64_t size = Tool::books.heaps.begin()->second.size;
    EXPECT_TRUE(size == 4_MiB - 32 || size == 2_MiB - 32) << size << "; the device adds the rest";
    plat_pool_destroy(pool);
    pool = nullptr;
  }
}

TEST_F(BrokerTest, HearsOfANewSizeWithoutANewRegion) {
  create();
  void* block = take(5_MiB);
  ASSERT_EQ(Tool::books.regions.size(), 1u);
  const auto before = Tool::books.regions.begin()->first;
  ASSERT_EQ(plat_pool_resize(pool, block, 1_MiB), PLAT_POOL_OK);
  ASSERT_EQ(Tool::books.regions.size(), 1u);
  EXPECT_EQ(Tool::books.regions.begin()->first, before);
  EXPECT_EQ(Tool::books.regions.begin()->second.size, 1_MiB);
}

TEST_F(BrokerTest, HearsOfAResetHeapByHeap) {
  create();
  plat_arena* arena = nullptr;
  ASSERT_EQ(plat_arena_create(pool, 64_KiB, &arena), PLAT_POOL_OK);
  void* block = nullptr;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(plat_arena_alloc(arena, 1000, 0, &block), PLAT_POOL_OK);
  EXPECT_EQ(name_of(block), "arena");
  EXPECT_EQ(plat_arena_destroy(arena), PLAT_POOL_OK);
  for (uint64_t bytes : {uint64_t{64}, uint64_t{100}, 40_KiB, 3_MiB}) take(bytes);
  ASSERT_EQ(Tool::books.regions.size(), 4u);
  const int calls = Tool::books.unregister_calls;
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
  EXPECT_TRUE(Tool::books.regions.empty());
  EXPECT_EQ(Tool::books.unregister_calls, calls);
}

// What was there before a tool came is the broker's to tell; what it was not told is not taken back.
TEST_F(BrokerTest, ComesWhileAPoolWorks) {
  ASSERT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
  platMstxRemember(0);
  create();
  void* early = take(3_MiB);
  ASSERT_EQ(platMstxAttachFunction(Tool::init, "late", &id), PLAT_MSTX_OK);
  void* tagged = nullptr;
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 1_MiB, 2, &tagged), PLAT_POOL_OK);
  EXPECT_EQ(Tool::books.regions.size(), 1u);
  EXPECT_EQ(plat_pool_free(pool, early), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, tagged), PLAT_POOL_OK);
  EXPECT_TRUE(Tool::books.regions.empty());
  EXPECT_TRUE(Tool::books.notices.empty());
}

}  // namespace
}  // namespace plat::test
