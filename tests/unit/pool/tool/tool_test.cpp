// What a tool of mstx hears of a pool. The program is the tool itself: one that exports this symbol is found
// when no other is named.
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

}  // namespace
}  // namespace plat::test
