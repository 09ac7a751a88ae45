// SPDX-License-Identifier: Apache-2.0
// A program's calls as the tools hear them.

#include <cstring>

#include <map>
#include <random>

#include "unit/mstx/fixture.h"

namespace plat::mstx::test {
namespace {

using Strings = std::vector<std::string>;

TEST_F(MstxTest, NothingHappensWithNobodyThere) {
  uint64_t id = 77;
  mstxGetToolId(&id);
  EXPECT_EQ(id, 0u);
  mstxGetToolId(nullptr);
  mstxMarkA("x", nullptr);
  EXPECT_EQ(mstxRangeStartA("x", nullptr), 0u);
  mstxRangeEnd(5);
  expect_no_handles();
  mstxMemRegionsUnregister(nullptr, nullptr);
  mstxMemPermissionsAssign(nullptr, nullptr);
  EXPECT_EQ(platMstxMemHeapReset(nullptr, nullptr), PLAT_MSTX_NO_LISTENER);
}

TEST_F(MstxTest, MarksReachEveryToolInOrderOfArrival) {
  Strings order;
  ToolA::habits.during_mark = [&] { order.push_back("A"); };
  ToolB::habits.during_mark = [&] { order.push_back("B"); };
  attach<ToolB>();
  attach<ToolA>();
  mstxMarkA("hello", nullptr);
  EXPECT_EQ(ToolA::books.marks, Strings{"hello"});
  EXPECT_EQ(ToolB::books.marks, Strings{"hello"});
  EXPECT_EQ(order, (Strings{"B", "A"}));
}

TEST_F(MstxTest, ANullTextArrivesAsAnEmptyOne) {
  attach<ToolA>();
  mstxMarkA(nullptr, nullptr);
  EXPECT_EQ(ToolA::books.marks, Strings{""});
}

TEST_F(MstxTest, TheFirstToolThatSaysWhoItIsAnswers) {
  attach<ToolA>();  // does not say
  ToolB::habits.tool_id = MSTX_TOOL_MSSANITIZER_ID;
  attach<ToolB>();
  uint64_t id = 0;
  mstxGetToolId(&id);
  EXPECT_EQ(id, uint64_t{MSTX_TOOL_MSSANITIZER_ID});
}

TEST_F(MstxTest, ARangeIsEndedAtEachToolByItsOwnId) {
  attach<ToolA>();
  attach<ToolB>();
  const mstxRangeId id = mstxRangeStartA("work", nullptr);
  EXPECT_GT(id, UINT32_MAX);
  EXPECT_EQ(ToolA::books.ranges.size(), 1u);
  EXPECT_EQ(ToolB::books.ranges.size(), 1u);
  mstxRangeEnd(id);
  mstxRangeEnd(id);  // once too often: goes nowhere
  EXPECT_TRUE(ToolA::books.ranges.empty());
  EXPECT_TRUE(ToolB::books.ranges.empty());
}

TEST_F(MstxTest, ARangeIsNotEndedAtAToolThatDidNotSeeItStart) {
  attach<ToolA>();
  const mstxRangeId id = mstxRangeStartA("work", nullptr);
  attach<ToolB>();
  mstxRangeEnd(id);
  EXPECT_TRUE(ToolA::books.ranges.empty());
}

TEST_F(MstxTest, ARangeOfAToolThatLeftIsNotEndedAtItsSuccessor) {
  const auto gone = attach<ToolA>();
  const mstxRangeId id = mstxRangeStartA("work", nullptr);
  ASSERT_EQ(platMstxDetach(gone), PLAT_MSTX_OK);
  // Every slot is taken by others once, the freed one included.
  for (int i = 0; i < PLAT_MSTX_TOOLS_MAX; ++i) {
    const auto next = attach<ToolB>();
    mstxRangeEnd(id);
    ASSERT_EQ(platMstxDetach(next), PLAT_MSTX_OK);
  }
}

TEST_F(MstxTest, WithOneToolARangeHasTheToolsOwnId) {
  const auto first = attach<ToolA>();
  const mstxRangeId alone = mstxRangeStartA("alone", nullptr);
  EXPECT_EQ(alone, ToolA::books.ranges.begin()->first);
  attach<ToolB>();
  const mstxRangeId together = mstxRangeStartA("together", nullptr);
  EXPECT_EQ(ToolA::books.ranges.count(together), 0u);
  EXPECT_EQ(ToolB::books.ranges.count(together), 0u);
  // What was given out means the same with two tools, and when the first has left.
  mstxRangeEnd(alone);
  EXPECT_EQ(ToolA::books.ranges.size(), 1u);
  ASSERT_EQ(platMstxDetach(first), PLAT_MSTX_OK);
  mstxRangeEnd(together);
  EXPECT_TRUE(ToolB::books.ranges.empty());
  const mstxRangeId again = mstxRangeStartA("alone", nullptr);
  EXPECT_EQ(again, ToolB::books.ranges.begin()->first);
  mstxRangeEnd(again);
  EXPECT_TRUE(ToolB::books.ranges.empty());
}

TEST_F(MstxTest, ToolsThatCountAlikeAreNotMixedUp) {
  ToolA::habits.ranges_from_zero = ToolB::habits.ranges_from_zero = true;
  ToolA::last_handle = ToolB::last_handle = 5;
  const auto first = attach<ToolA>();
  EXPECT_EQ(mstxRangeStartA("of A", nullptr), 5u);
  ASSERT_EQ(platMstxDetach(first), PLAT_MSTX_OK);
  attach<ToolB>();
  const mstxRangeId of_b = mstxRangeStartA("of B", nullptr);  // B says 5 too, and that is still A's
  EXPECT_NE(of_b, 5u);
  mstxRangeEnd(5);
  EXPECT_EQ(ToolB::books.ranges.size(), 1u);
  mstxRangeEnd(of_b);
  EXPECT_TRUE(ToolB::books.ranges.empty());
}

// Two tools that both count from 1, and again when they come back. A range that is ended ends at those who
// saw it start and are still there; a tool that is told to end what it did not start notes a mistake.
TEST_F(MstxTest, RangesEndWhereTheyStartedWhoeverComesAndGoes) {
  std::minstd_rand random(4711);
  struct Side {
    platMstxToolId_t id = 0;
    size_t open = 0;
  } a, b;
  std::map<mstxRangeId, std::pair<platMstxToolId_t, platMstxToolId_t>> open;
  const auto toggle = [&]<class Tool>(Side& side, Tool) {
    if (side.id != 0) {
      ASSERT_EQ(platMstxDetach(side.id), PLAT_MSTX_OK);
      side = {};
      return;
    }
    Tool::books.ranges.clear();
    Tool::habits.ranges_from_zero = true;
    Tool::last_handle = 1;
    side.id = attach<Tool>();
  };
  for (int step = 0; step < 5000; ++step) {
    const auto what = random() % 16;
    if (what == 0) toggle(a, ToolA());
    if (what == 1) toggle(b, ToolB());
    if (what >= 2 && what < 9 && a.id + b.id != 0) {
      const mstxRangeId id = mstxRangeStartA("r", nullptr);
      ASSERT_TRUE(open.emplace(id, std::pair(a.id, b.id)).second) << "an id was given twice";
      a.open += a.id != 0;
      b.open += b.id != 0;
    }
    if (what >= 9 && !open.empty()) {
      const auto one = std::next(open.begin(), static_cast<long>(random() % open.size()));
      mstxRangeEnd(one->first);
      a.open -= a.id != 0 && one->second.first == a.id;
      b.open -= b.id != 0 && one->second.second == b.id;
      open.erase(one);
    }
    ASSERT_TRUE(a.id == 0 || ToolA::books.ranges.size() == a.open);
    ASSERT_TRUE(b.id == 0 || ToolB::books.ranges.size() == b.open);
  }
}

TEST_F(MstxTest, AToolMayCountItsRangesFromZero) {
  ToolA::habits.ranges_from_zero = true;
  attach<ToolA>();
  EXPECT_EQ(mstxRangeStartA("first", nullptr), 0u);
  mstxRangeEnd(0);
  EXPECT_TRUE(ToolA::books.ranges.empty());
  attach<ToolB>();
  ToolA::last_handle = 0;
  const mstxRangeId id = mstxRangeStartA("second", nullptr);
  EXPECT_NE(id, 0u);
  mstxRangeEnd(id);
  EXPECT_TRUE(ToolA::books.ranges.empty());
  EXPECT_TRUE(ToolB::books.ranges.empty());
}

TEST_F(MstxTest, ADomainHasOneHandleAndEachToolItsOwn) {
  attach<ToolA>();
  attach<ToolB>();
  const auto domain = mstxDomainCreateA("pool");
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(mstxDomainCreateA("pool"), domain);
  EXPECT_EQ(ToolA::books.domain_creations, 1);
  mstxDomainMarkA(domain, "m", nullptr);
  EXPECT_EQ(ToolA::books.marks, Strings{"pool:m"});
  EXPECT_EQ(ToolB::books.marks, Strings{"pool:m"});
  const auto id = mstxDomainRangeStartA(domain, "r", nullptr);
  mstxDomainRangeEnd(domain, id);
  EXPECT_TRUE(ToolB::books.ranges.empty());
  // Two created it, so the first to destroy it does not take it from the second.
  mstxDomainDestroy(domain);
  EXPECT_EQ(ToolA::books.domains.size(), 1u);
  mstxDomainDestroy(domain);
  EXPECT_TRUE(ToolA::books.domains.empty());
  EXPECT_TRUE(ToolB::books.domains.empty());
  mstxDomainDestroy(domain);
}

TEST_F(MstxTest, AToolThatRefusedADomainIsAskedAgain) {
  ToolA::habits.null_domains = true;
  attach<ToolA>();
  EXPECT_EQ(mstxDomainCreateA("pool"), nullptr);
  ToolA::habits.null_domains = false;
  EXPECT_NE(mstxDomainCreateA("pool"), nullptr);
  EXPECT_EQ(ToolA::books.domain_creations, 2);
}

TEST_F(MstxTest, AnUnknownDomainReachesNobody) {
  ToolA::habits.extensions = true;
  attach<ToolA>();
  int local = 0;
  const auto garbage = reinterpret_cast<mstxDomainHandle_t>(&local);
  mstxDomainMarkA(garbage, "m", nullptr);
  EXPECT_EQ(mstxDomainRangeStartA(garbage, "r", nullptr), 0u);
  EXPECT_EQ(add_heap(garbage, 0x1000, 0x1000), nullptr);
  EXPECT_TRUE(ToolA::books.marks.empty());
  ASSERT_EQ(ToolA::books.notices.size(), 1u);
  EXPECT_EQ(ToolA::books.notices[0].code, uint32_t{PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN});
  EXPECT_EQ(ToolA::books.notices[0].value, reinterpret_cast<uint64_t>(&local));
  EXPECT_STREQ(ToolA::books.notices[0].function, "mstxMemHeapRegister");
}

TEST_F(MstxTest, HeapsAndRegionsReachEachToolUnderItsOwnHandles) {
  attach<ToolA>();
  attach<ToolB>();
  const auto domain = mstxDomainCreateA("pool");
  const auto heap = add_heap(domain, 0x10000, 0x1000);
  ASSERT_NE(heap, nullptr);
  const auto first = add_region(domain, heap, 0x10000, 256);
  const auto second = add_region(domain, heap, 0x10100, 256);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(ToolA::books.regions.size(), 2u);
  EXPECT_EQ(ToolA::books.regions.begin()->second.heap, ToolA::books.heaps.begin()->first);
  EXPECT_EQ(ToolB::books.regions.begin()->second.heap, ToolB::books.heaps.begin()->first);
  assign(domain, by_handle(first), MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ);
  EXPECT_EQ(ToolB::books.regions.begin()->second.permissions, 1u);
  drop_region(domain, by_handle(first));
  drop_region(domain, by_pointer(0x10100));  // registered with a handle, taken back by pointer
  EXPECT_TRUE(ToolA::books.regions.empty());
  EXPECT_TRUE(ToolB::books.regions.empty());
  add_region(domain, heap, 0x10200, 64);
  mstxMemHeapUnregister(domain, heap);
  EXPECT_TRUE(ToolA::books.heaps.empty());
  EXPECT_TRUE(ToolB::books.regions.empty());
}

TEST_F(MstxTest, ABatchIsOneCall) {
  attach<ToolA>();
  constexpr size_t kCount = 100;  // more than fits on the stack
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  for (size_t i = 0; i < kCount; ++i) ranges.push_back({0, at(0x10000 + 64 * i), 64});
  std::vector<mstxMemRegionHandle_t> handles(kCount);
  const mstxMemRegionsRegisterBatch_t batch{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, kCount, ranges.data(),
                                            handles.data()};
  mstxMemRegionsRegister(nullptr, &batch);
  EXPECT_EQ(ToolA::books.regions.size(), kCount);
  EXPECT_EQ(std::set<mstxMemRegionHandle_t>(handles.begin(), handles.end()).size(), kCount);
  std::vector<mstxMemRegionRef_t> refs;
  for (size_t i = 0; i < kCount; ++i)
    refs.push_back(i % 2 == 0 ? by_handle(handles[i]) : by_pointer(0x10000 + 64 * i));
  const mstxMemRegionsUnregisterBatch_t unregister{kCount, refs.data()};
  mstxMemRegionsUnregister(nullptr, &unregister);
  EXPECT_TRUE(ToolA::books.regions.empty());
  EXPECT_EQ(ToolA::books.unregister_calls, 1);
}

TEST_F(MstxTest, RegionsWithoutAnArrayForHandlesGoByPointer) {
  attach<ToolA>();
  const mstxMemVirtualRangeDesc_t range{0, at(0x1000), 64};
  const mstxMemRegionsRegisterBatch_t batch{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, nullptr};
  mstxMemRegionsRegister(nullptr, &batch);
  EXPECT_EQ(ToolA::books.regions.size(), 1u);
  drop_region(nullptr, by_pointer(0x1000));
  EXPECT_TRUE(ToolA::books.regions.empty());
}

TEST_F(MstxTest, AHeapThatTheOnlyToolRefusesIsRefused) {
  ToolA::habits.null_heaps = true;
  attach<ToolA>();
  EXPECT_EQ(add_heap(nullptr, 0x1000, 0x1000), nullptr);
  attach<ToolB>();
  EXPECT_NE(add_heap(nullptr, 0x1000, 0x1000), nullptr);
}

// Tools find mistakes by them: the second time goes out under the tool's own handle, as it would without a
// broker.
TEST_F(MstxTest, TakingBackTwiceIsPassedOnToThoseWhoKnew) {
  attach<ToolA>();
  const auto region = add_region(nullptr, nullptr, 0x1000, 64);
  attach<ToolB>();
  drop_region(nullptr, by_handle(region));
  drop_region(nullptr, by_handle(region));
  drop_region(nullptr, by_pointer(0x1000));
  const Strings twice(2, "unregisters a region that is not mine");
  EXPECT_EQ(ToolA::books.mistakes, twice);
  EXPECT_EQ(ToolB::books.mistakes, twice);
  ToolA::books.mistakes.clear();
  ToolB::books.mistakes.clear();
}

TEST_F(MstxTest, GarbageGoesNowhereAndIsNoticed) {
  ToolA::habits.extensions = true;
  attach<ToolA>();
  int local = 0;
  const auto garbage_heap = reinterpret_cast<mstxMemHeapHandle_t>(&local);
  drop_region(nullptr, by_handle(reinterpret_cast<mstxMemRegionHandle_t>(&local)));
  mstxMemHeapUnregister(nullptr, garbage_heap);
  mstxMemRegionRef_t neither = by_pointer(0x1000);
  std::memset(&neither.refType, 9, sizeof(neither.refType));
  drop_region(nullptr, neither);
  add_region(nullptr, garbage_heap, 0x1000, 64);  // of no heap then
  mstxMemHeapRegister(nullptr, nullptr);
  std::vector<uint32_t> codes;
  for (const auto& notice : ToolA::books.notices) codes.push_back(notice.code);
  EXPECT_EQ(codes, (std::vector<uint32_t>{PLAT_MSTX_NOTICE_UNKNOWN_REGION, PLAT_MSTX_NOTICE_UNKNOWN_HEAP,
                                          PLAT_MSTX_NOTICE_REF_TYPE, PLAT_MSTX_NOTICE_UNKNOWN_HEAP,
                                          PLAT_MSTX_NOTICE_NULL_ARGUMENT}));
  EXPECT_EQ(ToolA::books.regions.size(), 1u);
  EXPECT_EQ(ToolA::books.unregister_calls, 0);
}

TEST_F(MstxTest, AMemoryTypeThatNobodyKnowsIsPassedOnAndNotRemembered) {
  ToolA::habits.extensions = true;
  attach<ToolA>();
  const mstxMemVirtualRangeDesc_t range{0, at(0x1000), 64};
  mstxMemRegionHandle_t handle = nullptr;
  mstxMemRegionsRegisterBatch_t batch{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, &handle};
  std::memset(&batch.regionType, 7, sizeof(batch.regionType));
  mstxMemRegionsRegister(nullptr, &batch);
  EXPECT_EQ(ToolA::books.regions.size(), 1u);
  ASSERT_EQ(ToolA::books.notices.size(), 1u);
  EXPECT_EQ(ToolA::books.notices[0].code, uint32_t{PLAT_MSTX_NOTICE_MEM_TYPE});
  ToolB::habits.extensions = true;
  attach<ToolB>();
  EXPECT_TRUE(ToolB::books.regions.empty());
  EXPECT_EQ(ToolB::books.replays[0].regionCount, 0u);
  drop_region(nullptr, by_handle(handle));
  EXPECT_TRUE(ToolA::books.regions.empty());
}

TEST_F(MstxTest, AToolThatOnlyMarksLeavesTheRestAsIfNobodyWereThere) {
  ToolA::habits.only_marks = true;
  attach<ToolA>();
  platMstxRemember(0);  // as when the environment brought the tool
  EXPECT_EQ(mstxRangeStartA("r", nullptr), 0u);
  expect_no_handles();
  mstxMarkA("m", nullptr);
  EXPECT_EQ(ToolA::books.marks, Strings{"m"});
}

TEST_F(MstxTest, WhatAToolCausesItselfIsToldToTheOthers) {
  ToolA::habits.during_mark = [] {
    mstxMarkA("from inside", nullptr);
    add_region(nullptr, nullptr, 0x5000, 16);
    drop_region(nullptr, by_pointer(0x5000));
  };
  attach<ToolA>();
  attach<ToolB>();
  mstxMarkA("outside", nullptr);
  EXPECT_EQ(ToolA::books.marks, Strings{"outside"});
  EXPECT_EQ(ToolB::books.marks, (Strings{"from inside", "outside"}));
  EXPECT_EQ(ToolB::books.unregister_calls, 1);
  EXPECT_EQ(ToolA::books.unregister_calls, 0);
}

}  // namespace
}  // namespace plat::mstx::test
