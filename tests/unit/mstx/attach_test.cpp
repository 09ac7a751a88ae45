// SPDX-License-Identifier: Apache-2.0
// Tools that come and go.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "unit/mstx/fixture.h"

namespace plat::mstx::test {
namespace {

using Strings = std::vector<std::string>;

TEST_F(MstxTest, AttachingTwiceIsRefusedWithTheFirstId) {
  const auto id = attach<ToolA>();
  platMstxToolId_t again = 0;
  EXPECT_EQ(platMstxAttachFunction(ToolA::init, "again", &again), PLAT_MSTX_ATTACHED);
  EXPECT_EQ(again, id);
  EXPECT_EQ(ToolA::books.inits, 1);
}

TEST_F(MstxTest, AToolThatRefusesIsNeverCalled) {
  ToolA::habits.refuse = true;
  EXPECT_EQ(platMstxAttachFunction(ToolA::init, "a", nullptr), PLAT_MSTX_TOOL_REFUSED);
  mstxMarkA("m", nullptr);
  EXPECT_TRUE(ToolA::books.marks.empty());
}

TEST_F(MstxTest, WrongArgumentsAreRefused) {
  EXPECT_EQ(platMstxAttach(nullptr, nullptr), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxAttach("", nullptr), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxAttach("/nowhere/libtool.so", nullptr), PLAT_MSTX_CANNOT_LOAD);
  EXPECT_EQ(platMstxAttach("libm.so.6", nullptr), PLAT_MSTX_NO_SYMBOL);
  EXPECT_EQ(platMstxAttachFunction(nullptr, "x", nullptr), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxDetach(0), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxDetach(12345), PLAT_MSTX_INVALID);
  EXPECT_EQ(platMstxListTools(nullptr, 1, nullptr), PLAT_MSTX_INVALID);
  platMstxToolInfo_t info{};  // structSize not set
  uint32_t count = 0;
  attach<ToolA>();
  EXPECT_EQ(platMstxListTools(&info, 1, &count), PLAT_MSTX_INVALID);
}

template <int... N>
std::vector<mstxInitInjectionFunc> tool_inits(std::integer_sequence<int, N...>) {
  return {FakeTool<100 + N>::init...};
}

TEST_F(MstxTest, ALimitedNumberOfToolsIsAttachedAtOnce) {
  const auto inits = tool_inits(std::make_integer_sequence<int, PLAT_MSTX_TOOLS_MAX + 1>());
  for (int i = 0; i < PLAT_MSTX_TOOLS_MAX; ++i)
    EXPECT_EQ(platMstxAttachFunction(inits[i], "t", nullptr), PLAT_MSTX_OK);
  EXPECT_EQ(platMstxAttachFunction(inits.back(), "t", nullptr), PLAT_MSTX_TOO_MANY);
  mstxMarkA("all", nullptr);
  EXPECT_EQ(FakeTool<100>::books.marks, Strings{"all"});
  EXPECT_EQ((FakeTool<100 + PLAT_MSTX_TOOLS_MAX - 1>::books.marks), Strings{"all"});
}

TEST_F(MstxTest, ToolsAreListedInOrder) {
  ToolA::habits.tool_id = MSTX_TOOL_MSPROF_ID;
  const auto first = attach<ToolA>("first");
  const auto second = attach<ToolB>(std::string(500, 'b').c_str());
  platMstxToolInfo_t tools[2] = {};
  tools[0].structSize = tools[1].structSize = sizeof(tools[0]);
  uint32_t count = 0;
  ASSERT_EQ(platMstxListTools(tools, 2, &count), PLAT_MSTX_OK);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(tools[0].id, first);
  EXPECT_STREQ(tools[0].name, "first");
  EXPECT_EQ(tools[0].toolId, uint64_t{MSTX_TOOL_MSPROF_ID});
  EXPECT_EQ(tools[1].id, second);
  EXPECT_EQ(std::string(tools[1].name).size(), sizeof(tools[1].name) - 1);
  ASSERT_EQ(platMstxListTools(nullptr, 0, &count), PLAT_MSTX_OK);
  EXPECT_EQ(count, 2u);
}

TEST_F(MstxTest, ANewcomerIsToldWhatLives) {
  attach<ToolA>();
  const auto domain = mstxDomainCreateA("pool");
  const auto gone = mstxDomainCreateA("gone");
  const auto heap = add_heap(domain, 0x10000, 0x10000);
  platMstxMemHeapName(domain, heap, "main heap");
  const auto dead_heap = add_heap(domain, 0x90000, 0x1000);
  const auto first = add_region(domain, heap, 0x10000, 64);
  const auto second = add_region(domain, heap, 0x10040, 64);
  add_region(nullptr, nullptr, 0x50000, 32);  // of no heap and the global domain
  add_region(domain, dead_heap, 0x90000, 16);
  assign(domain, by_handle(second), MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ);
  const platMstxMemRegionName_t name{by_handle(second), "weights"};
  const platMstxMemRegionsNameBatch_t names{sizeof(names), 1, &name};
  EXPECT_EQ(platMstxMemRegionsName(domain, &names), PLAT_MSTX_OK);
  drop_region(domain, by_handle(first));
  mstxMemHeapUnregister(domain, dead_heap);
  mstxDomainDestroy(gone);

  ToolB::habits.extensions = true;
  attach<ToolB>();
  ASSERT_EQ(ToolB::books.replays.size(), 1u);
  EXPECT_EQ(ToolB::books.replays[0].domainCount, 1u);
  EXPECT_EQ(ToolB::books.replays[0].heapCount, 1u);
  EXPECT_EQ(ToolB::books.replays[0].regionCount, 2u);
  EXPECT_FALSE(ToolB::books.in_replay);
  ASSERT_EQ(ToolB::books.domains.size(), 1u);
  EXPECT_EQ(ToolB::books.domains.begin()->second, "pool");
  ASSERT_EQ(ToolB::books.heaps.size(), 1u);
  EXPECT_EQ(ToolB::books.heaps.begin()->second.name, "main heap");
  EXPECT_EQ(ToolB::books.heaps.begin()->second.domain, ToolB::books.domains.begin()->first);
  ASSERT_EQ(ToolB::books.regions.size(), 2u);
  const auto& weights = ToolB::books.regions.begin()->second;
  EXPECT_EQ(weights.start, at(0x10040));
  EXPECT_EQ(weights.heap, ToolB::books.heaps.begin()->first);
  EXPECT_EQ(weights.permissions, uint32_t{MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ});
  EXPECT_EQ(weights.name, "weights");

  // What it was told is what later calls are about.
  drop_region(domain, by_handle(second));
  drop_region(nullptr, by_pointer(0x50000));
  mstxMemHeapUnregister(domain, heap);
  mstxDomainDestroy(domain);
  EXPECT_TRUE(ToolB::books.regions.empty());
  EXPECT_TRUE(ToolB::books.heaps.empty());
  EXPECT_TRUE(ToolB::books.domains.empty());
}

TEST_F(MstxTest, ManyRegionsAreToldInBatches) {
  attach<ToolA>();
  const auto heap = add_heap(nullptr, 0x100000, 0x100000);
  for (uint64_t i = 0; i < 1000; ++i) add_region(nullptr, heap, 0x100000 + 64 * i, 64);
  attach<ToolB>();
  EXPECT_EQ(ToolB::books.regions.size(), 1000u);
  // In the order in which they were made.
  const void* last = nullptr;
  for (const auto& [handle, region] : ToolB::books.regions) {
    EXPECT_LT(last, region.start);
    last = region.start;
  }
}

TEST_F(MstxTest, WhatIsRememberedOutlastsTheLastTool) {
  const auto id = attach<ToolA>();
  const auto heap = add_heap(nullptr, 0x1000, 0x1000);
  ASSERT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
  const auto region = add_region(nullptr, heap, 0x1000, 64);
  EXPECT_NE(region, nullptr);
  attach<ToolB>();
  EXPECT_EQ(ToolB::books.heaps.size(), 1u);
  EXPECT_EQ(ToolB::books.regions.size(), 1u);
}

// Nobody hears of memory any more, but a tool of marks keeps calls coming: what is unregistered then is gone.
TEST_F(MstxTest, WhatGoesWhileOnlyMarksAreHeardIsNotToldToTheNext) {
  const auto id = attach<ToolB>();
  const auto heap = add_heap(nullptr, 0x1000, 0x1000);
  const auto gone = add_region(nullptr, heap, 0x1000, 64);
  add_region(nullptr, heap, 0x1040, 64);
  ToolA::habits.only_marks = true;
  attach<ToolA>();
  ASSERT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
  ASSERT_EQ(platMstxRemember(0), PLAT_MSTX_OK);
  drop_region(nullptr, by_handle(gone));
  ToolB::reset();
  attach<ToolB>();
  EXPECT_EQ(ToolB::books.heaps.size(), 1u);
  EXPECT_EQ(ToolB::books.regions.size(), 1u);
}

// In a process of its own: what was missed once is missed for good. Whether the second tool was told that it
// knows all.
template <class Before>
int completeness_after(const Before& before) {
  ToolA::habits.only_marks = true;
  platMstxAttachFunction(ToolA::init, "a", nullptr);
  before();
  ToolB::habits.extensions = true;
  platMstxAttachFunction(ToolB::init, "b", nullptr);
  return static_cast<int>(ToolB::books.replays.at(0).complete);
}

TEST_F(MstxTest, WhatOnlyAToolOfMarksCouldHaveHeardIsMissedByTheNext) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto register_unheard = [] {
    platMstxRemember(0);
    EXPECT_EQ(add_region(nullptr, nullptr, 0x1000, 64), nullptr);
  };
  EXPECT_EXIT(_exit(completeness_after(register_unheard)), testing::ExitedWithCode(0), "");
}

TEST_F(MstxTest, NothingIsMissedWhileTheBrokerRemembers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto register_remembered = [] { EXPECT_NE(add_region(nullptr, nullptr, 0x1000, 64), nullptr); };
  EXPECT_EXIT(_exit(completeness_after(register_remembered)), testing::ExitedWithCode(1), "");
}

TEST_F(MstxTest, RememberingCanBeAskedForAndEnded) {
  EXPECT_EQ(platMstxRemember(1), PLAT_MSTX_OK);
  const auto heap = add_heap(nullptr, 0x1000, 0x1000);
  EXPECT_NE(heap, nullptr);
  EXPECT_EQ(platMstxRemember(0), PLAT_MSTX_OK);
  EXPECT_EQ(add_heap(nullptr, 0x1000, 0x1000), nullptr);
  ToolA::habits.extensions = true;
  attach<ToolA>();
  EXPECT_TRUE(ToolA::books.heaps.empty());
  ASSERT_EQ(ToolA::books.replays.size(), 1u);
  EXPECT_EQ(ToolA::books.replays[0].complete, 0u);
  mstxMemHeapUnregister(nullptr, heap);  // from before: goes nowhere
}

TEST_F(MstxTest, AToolMayComeBack) {
  for (int i = 0; i < 20; ++i) {
    const auto id = attach<ToolA>();
    mstxMarkA("m", nullptr);
    ASSERT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
    mstxMarkA("unheard", nullptr);
  }
  EXPECT_EQ(ToolA::books.marks, Strings(20, "m"));
}

TEST_F(MstxTest, ADetachedToolIsToldLast) {
  ToolA::habits.extensions = true;
  const auto id = attach<ToolA>();
  ASSERT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
  EXPECT_EQ(ToolA::books.detaches, 1);
  EXPECT_EQ(platMstxDetach(id), PLAT_MSTX_INVALID);
}

TEST_F(MstxTest, AToolCannotLeaveFromInsideItsOwnCall) {
  platMstxToolId_t id = 0;
  int inside_mark = -1, inside_region = -1, attach_inside = -1;
  ToolA::habits.during_mark = [&] { inside_mark = platMstxDetach(id); };
  ToolA::habits.during_region = [&] {
    inside_region = platMstxDetach(id);
    attach_inside = platMstxAttachFunction(ToolB::init, "b", nullptr);
  };
  id = attach<ToolA>();
  mstxMarkA("m", nullptr);
  add_region(nullptr, nullptr, 0x1000, 16);
  EXPECT_EQ(inside_mark, PLAT_MSTX_BUSY);
  EXPECT_EQ(inside_region, PLAT_MSTX_BUSY);
  EXPECT_EQ(attach_inside, PLAT_MSTX_BUSY);
}

// A tool that calls mstx while it starts must not wait for itself, and hears nothing of it.
TEST_F(MstxTest, AToolMayCallWhileItStarts) {
  ToolA::habits.during_init = [] {
    mstxMarkA("from init", nullptr);
    mstxDomainCreateA("early");
    platMstxToolId_t id = 0;
    EXPECT_EQ(platMstxAttachFunction(ToolB::init, "b", &id), PLAT_MSTX_OK);
    EXPECT_EQ(platMstxAttachFunction(ToolA::init, "a", &id), PLAT_MSTX_BUSY);
  };
  attach<ToolA>();
  EXPECT_TRUE(ToolA::books.marks.empty());
  mstxMarkA("m", nullptr);
  EXPECT_EQ(ToolA::books.marks, Strings{"m"});
  EXPECT_EQ(ToolB::books.marks, Strings{"m"});
}

// The tool stores its first function and goes on preparing; calls of other threads must not reach it before
// it is done.
TEST_F(MstxTest, AHalfStartedToolIsNotCalled) {
  std::atomic<bool> ready{false}, too_early{false}, stop{false};
  std::atomic<int> calls{0};
  ToolA::habits.during_init = [&] {
    while (calls < 1000) std::this_thread::yield();
    ready = true;
  };
  ToolA::habits.during_mark = [&] {
    if (!ready) too_early = true;
  };
  platMstxRemember(1);  // so that calls go all the way
  std::thread caller([&] {
    while (!stop) {
      mstxMarkA("m", nullptr);
      ++calls;
    }
  });
  attach<ToolA>();
  const int before = calls;
  while (calls < before + 100) std::this_thread::yield();
  stop = true;
  caller.join();
  EXPECT_FALSE(too_early);
  EXPECT_FALSE(ToolA::books.marks.empty());
}

TEST_F(MstxTest, AForkedChildKeepsTheTool) {
  attach<ToolA>();
  const auto heap = add_heap(nullptr, 0x1000, 0x1000);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    mstxMarkA("child", nullptr);
    const bool heard = ToolA::books.marks == Strings{"child"} && ToolA::books.inits == 1;
    const bool region = add_region(nullptr, heap, 0x1000, 64) != nullptr;
    platMstxToolId_t id = 0;
    const bool attached = platMstxAttachFunction(ToolB::init, "b", &id) == PLAT_MSTX_OK &&
                          ToolB::books.heaps.size() == 1 && platMstxDetach(id) == PLAT_MSTX_OK;
    _exit(heard && region && attached ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(ToolA::books.marks.empty());
}

// The child goes on where it is, inside the attaching, and must be able to attach and detach afterwards.
TEST_F(MstxTest, AToolMayForkWhileItStarts) {
  pid_t child = -1;
  ToolA::habits.during_init = [&] { child = fork(); };
  const auto id = attach<ToolA>();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    const bool ok = platMstxDetach(id) == PLAT_MSTX_OK &&
                    platMstxAttachFunction(ToolB::init, "b", nullptr) == PLAT_MSTX_OK;
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// It is on its way out, and on this thread's stack.
TEST_F(MstxTest, AToolCannotComeBackFromItsOwnEnd) {
  int again = PLAT_MSTX_OK;
  ToolA::habits.extensions = true;
  ToolA::habits.during_detach = [&] { again = platMstxAttachFunction(ToolA::init, "a", nullptr); };
  const auto id = attach<ToolA>();
  EXPECT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
  EXPECT_EQ(again, PLAT_MSTX_BUSY);
  ToolA::habits.during_detach = nullptr;
  attach<ToolA>();
}

// Not under AddressSanitizer, whose allocator a child may inherit locked.
#ifndef __SANITIZE_ADDRESS__

// A tool that keeps no books and takes no lock, which a child could inherit locked.
struct SilentTool {
  static void mark(const char*, aclrtStream) {}
  static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t, const mstxMemHeapDesc_t* desc) {
    return reinterpret_cast<mstxMemHeapHandle_t>(const_cast<void*>(desc->typeSpecificDesc));
  }
  static void regions_register(mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t*) {}
  static int init(mstxGetModuleFuncTableFunc get_table) {
    mstxFuncTable table = nullptr;
    unsigned int count = 0;
    get_table(MSTX_API_MODULE_CORE, &table, &count);
    *table[MSTX_API_CORE_MARK_A] = reinterpret_cast<mstxFuncPointer>(mark);
    get_table(MSTX_API_MODULE_CORE_MEM, &table, &count);
    *table[MSTX_API_CORE_MEMHEAP_REGISTER] = reinterpret_cast<mstxFuncPointer>(heap_register);
    *table[MSTX_API_CORE_MEM_REGIONS_REGISTER] = reinterpret_cast<mstxFuncPointer>(regions_register);
    return MSTX_SUCCESS;
  }
};

// Forking while another thread is in the middle of calls and attaching must leave the child able to do both.
TEST_F(MstxTest, ForkingUnderLoadLeavesTheChildUsable) {
  platMstxRemember(1);
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop) {
      mstxMarkA("m", nullptr);
      add_region(nullptr, nullptr, 0x1000, 64);
      drop_region(nullptr, by_pointer(0x1000));
    }
  });
  std::thread attacher([&] {
    while (!stop) platMstxDetach(attach<SilentTool>());
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      platMstxToolId_t id = 0;
      const bool ok = platMstxAttachFunction(FakeTool<50>::init, "c", &id) == PLAT_MSTX_OK &&
                      add_heap(nullptr, 0x9000, 64) != nullptr && platMstxDetach(id) == PLAT_MSTX_OK;
      _exit(ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  caller.join();
  attacher.join();
}

#endif

}  // namespace
}  // namespace plat::mstx::test
