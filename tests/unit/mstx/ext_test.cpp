// SPDX-License-Identifier: Apache-2.0
// Names, resizing, resetting, initialised memory: to a tool that knows them and to one that does not.

#include "unit/mstx/fixture.h"

namespace plat::mstx::test {
namespace {

class MstxExtTest : public MstxTest {
 protected:
  void SetUp() override {
    MstxTest::SetUp();
    ToolA::habits.extensions = true;  // B is a tool as they are today
    attach<ToolA>();
    attach<ToolB>();
    heap_ = add_heap(nullptr, 0x10000, 0x10000);
    region_ = add_region(nullptr, heap_, 0x10000, 64);
  }
  mstxMemHeapHandle_t heap_ = nullptr;
  mstxMemRegionHandle_t region_ = nullptr;
};

TEST_F(MstxExtTest, NamesReachThoseWhoKnowNames) {
  EXPECT_EQ(platMstxMemHeapName(nullptr, heap_, "arena"), PLAT_MSTX_OK);
  EXPECT_EQ(ToolA::books.heaps.begin()->second.name, "arena");
  const platMstxMemRegionName_t entries[] = {{by_handle(region_), "block"}, {by_pointer(0x77), "nothing"}};
  const platMstxMemRegionsNameBatch_t batch{sizeof(batch), 2, entries};
  EXPECT_EQ(platMstxMemRegionsName(nullptr, &batch), PLAT_MSTX_INVALID);  // the second names nothing
  EXPECT_EQ(ToolA::books.regions.begin()->second.name, "block");
}

TEST_F(MstxExtTest, AResizedRegionIsRegisteredAnewWhereResizingIsNotKnown) {
  assign(nullptr, by_handle(region_), MSTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE);
  const auto old_handle = ToolB::books.regions.begin()->first;
  const platMstxMemRegionSize_t entry{by_handle(region_), 128};
  const platMstxMemRegionsResizeBatch_t batch{sizeof(batch), 1, &entry};
  EXPECT_EQ(platMstxMemRegionsResize(nullptr, &batch), PLAT_MSTX_OK);
  ASSERT_EQ(ToolA::books.regions.size(), 1u);
  EXPECT_EQ(ToolA::books.regions.begin()->second.size, 128u);
  EXPECT_EQ(ToolA::books.unregister_calls, 0);
  ASSERT_EQ(ToolB::books.regions.size(), 1u);
  EXPECT_EQ(ToolB::books.regions.begin()->second.size, 128u);
  EXPECT_EQ(ToolB::books.regions.begin()->second.heap, ToolB::books.heaps.begin()->first);
  EXPECT_EQ(ToolB::books.regions.begin()->second.permissions,
            uint32_t{MSTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE});
  EXPECT_NE(ToolB::books.regions.begin()->first, old_handle);
  // The client's handle stays, and means the new one.
  drop_region(nullptr, by_handle(region_));
  EXPECT_TRUE(ToolA::books.regions.empty());
  EXPECT_TRUE(ToolB::books.regions.empty());
}

TEST_F(MstxExtTest, AResetHeapLosesItsRegionsAndStays) {
  add_region(nullptr, heap_, 0x10040, 64);
  const auto outside = add_region(nullptr, nullptr, 0x90000, 64);
  EXPECT_EQ(platMstxMemHeapReset(nullptr, heap_), PLAT_MSTX_OK);
  EXPECT_EQ(ToolA::books.regions.size(), 1u);
  EXPECT_EQ(ToolA::books.unregister_calls, 0);
  EXPECT_EQ(ToolB::books.regions.size(), 1u);
  EXPECT_EQ(ToolB::books.unregister_calls, 1);
  EXPECT_EQ(ToolB::books.heaps.size(), 1u);
  EXPECT_NE(add_region(nullptr, heap_, 0x10000, 32), nullptr);
  drop_region(nullptr, by_handle(outside));
  EXPECT_EQ(platMstxMemHeapReset(nullptr, heap_), PLAT_MSTX_OK);
  EXPECT_EQ(platMstxMemHeapReset(nullptr, heap_), PLAT_MSTX_OK);  // nothing in it
  EXPECT_TRUE(ToolB::books.regions.empty());
}

TEST_F(MstxExtTest, InitialisedBytesReachThoseWhoAsk) {
  const mstxMemVirtualRangeDesc_t ranges[] = {{0, at(0x10000), 16}, {0, at(0x10020), 8}};
  const platMstxMemInitializedBatch_t batch{sizeof(batch), 2, ranges};
  EXPECT_EQ(platMstxMemMarkInitialized(nullptr, &batch), PLAT_MSTX_OK);
  EXPECT_EQ(ToolA::books.initialized_bytes, 24u);
}

TEST_F(MstxExtTest, WrongArgumentsAreRefused) {
  int local = 0;
  const auto garbage = reinterpret_cast<mstxMemHeapHandle_t>(&local);
  EXPECT_EQ(platMstxMemHeapName(nullptr, garbage, "x"), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxMemHeapName(nullptr, heap_, nullptr), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxMemHeapReset(nullptr, garbage), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxMemRegionsName(nullptr, nullptr), PLAT_MSTX_INVALID);
  const platMstxMemRegionsResizeBatch_t unset{};
  EXPECT_EQ(platMstxMemRegionsResize(nullptr, &unset), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxMemMarkInitialized(nullptr, nullptr), PLAT_MSTX_INVALID);
}

TEST_F(MstxExtTest, TheTableHasEveryCall) {
  const platMstxBroker_t* broker = platMstxGetBroker();
  ASSERT_EQ(broker->structSize, sizeof(*broker));
  EXPECT_EQ(broker->heapReset(nullptr, heap_), PLAT_MSTX_OK);
  EXPECT_TRUE(ToolA::books.regions.empty());
}

}  // namespace
}  // namespace plat::mstx::test
