// SPDX-License-Identifier: Apache-2.0
// The tables that a tool gets: counts, the NULL at both ends, and the place where a store one past the end
// does no harm.

#include "mstx/tool.h"
#include "unit/mstx/fixture.h"

namespace plat::mstx::test {
namespace {

constexpr struct {
  mstxFuncModule module;
  unsigned int count;
} kModules[] = {{MSTX_API_MODULE_CORE, 5}, {MSTX_API_MODULE_CORE_DOMAIN, 6}, {MSTX_API_MODULE_CORE_MEM, 6}};

TEST(MstxTables, CountsAndSlotsAreAsToolsExpect) {
  for (uint32_t slot = 0; slot < PLAT_MSTX_TOOLS_MAX; ++slot) {
    for (const auto& [module, expected] : kModules) {
      mstxFuncTable table = nullptr;
      unsigned int count = 0;
      ASSERT_EQ(tool_getter(slot)(module, &table, &count), MSTX_SUCCESS);
      EXPECT_EQ(count, expected);
      EXPECT_EQ(table[0], nullptr);
      for (unsigned int id = 1; id < count; ++id) EXPECT_NE(table[id], nullptr);
      EXPECT_EQ(table[count + 1], nullptr);
    }
  }
}

TEST(MstxTables, OtherModulesAndNullOutputsAreRefused) {
  const auto get = tool_getter(0);
  mstxFuncTable table = nullptr;
  unsigned int count = 77;
  EXPECT_EQ(get(MSTX_API_MODULE_INVALID, &table, &count), MSTX_FAIL);
  EXPECT_EQ(get(MSTX_API_MODULE_SIZE, &table, &count), MSTX_FAIL);
  EXPECT_EQ(get(static_cast<mstxFuncModule>(0x7fffffff), &table, &count), MSTX_FAIL);
  EXPECT_EQ(get(MSTX_API_MODULE_CORE, nullptr, &count), MSTX_FAIL);
  EXPECT_EQ(get(MSTX_API_MODULE_CORE, &table, nullptr), MSTX_FAIL);
  EXPECT_EQ(table, nullptr);
  EXPECT_EQ(count, 77u);
}

// A tool built for ids that we do not know, with the test `count >= id` that some tools use.
TEST(MstxTables, AStoreOnePastTheEndTouchesNothing) {
  for (const auto& [module, expected] : kModules) {
    mstxFuncTable table = nullptr;
    unsigned int count = 0;
    ASSERT_EQ(tool_getter(3)(module, &table, &count), MSTX_SUCCESS);
    g_tools[3].clear_functions();
    *table[count] = reinterpret_cast<mstxFuncPointer>(&mstxMarkA);
    for (unsigned int id = 1; id < count; ++id) EXPECT_EQ(*table[id], nullptr);
  }
  EXPECT_FALSE(g_tools[3].hears_memory());
  g_tools[3].clear_functions();
}

TEST(MstxTables, ToolsDoNotShareSlots) {
  std::set<void*> seen;
  for (uint32_t slot = 0; slot < PLAT_MSTX_TOOLS_MAX; ++slot) {
    for (const auto& [module, expected] : kModules) {
      mstxFuncTable table = nullptr;
      unsigned int count = 0;
      ASSERT_EQ(tool_getter(slot)(module, &table, &count), MSTX_SUCCESS);
      for (unsigned int id = 1; id <= count; ++id) EXPECT_TRUE(seen.insert(table[id]).second);
    }
  }
}

}  // namespace
}  // namespace plat::mstx::test
