// SPDX-License-Identifier: Apache-2.0
// A call that finds no memory comes to nothing: every allocation of every call fails once, and what is kept
// is as if the call had not been made.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "mstx/registry.h"
#include "mstx/tools.h"
#include "support/failing_steps.h"
#include "support/mstx_words.h"

namespace plat::mstx {
namespace {

using plat::test::arm_step;
using plat::test::disarm_steps;

// Takes no memory of its own.
template <int N>
struct PlainTool {
  static inline platMstxReplay_t replay{};
  static inline int ends = 0;

  static mstxDomainHandle_t create(const char*) { return reinterpret_cast<mstxDomainHandle_t>(16); }
  static mstxMemHeapHandle_t heap(mstxDomainHandle_t, const mstxMemHeapDesc_t*) {
    return reinterpret_cast<mstxMemHeapHandle_t>(32);
  }
  static void regions(mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t* batch) {
    for (size_t i = 0; batch->regionHandleArrayOut != nullptr && i < batch->regionCount; ++i)
      batch->regionHandleArrayOut[i] = reinterpret_cast<mstxMemRegionHandle_t>(48 + i);
  }
  static mstxRangeId start(const char*, aclrtStream) { return 7; }
  static void replay_begin(const platMstxReplay_t* told) { replay = *told; }
  static void end() { ++ends; }

  static int init(mstxGetModuleFuncTableFunc get_table) {
    mstxFuncTable table = nullptr;
    unsigned int count = 0;
    const auto store = [&](int id, auto* function) {
      *table[id] = reinterpret_cast<mstxFuncPointer>(function);
    };
    get_table(MSTX_API_MODULE_CORE, &table, &count);
    store(MSTX_API_CORE_RANGE_START_A, start);
    get_table(MSTX_API_MODULE_CORE_DOMAIN, &table, &count);
    store(MSTX_API_CORE2_DOMAIN_CREATE_A, create);
    get_table(MSTX_API_MODULE_CORE_MEM, &table, &count);
    store(MSTX_API_CORE_MEMHEAP_REGISTER, heap);
    store(MSTX_API_CORE_MEM_REGIONS_REGISTER, regions);
    get_table(PLAT_MSTX_MODULE, &table, &count);
    store(PLAT_MSTX_FUNC_REPLAY_BEGIN, replay_begin);
    store(PLAT_MSTX_FUNC_DETACH, end);
    return MSTX_SUCCESS;
  }
};

template <class Tool>
platMstxToolId_t attach() {
  platMstxToolId_t id = 0;
  EXPECT_EQ(platMstxAttachFunction(Tool::init, "plain", &id), PLAT_MSTX_OK);
  return id;
}

// Makes each allocation of call() fail, one after the other; after(n) looks at what is left. How many failed.
uint64_t fail_each(const std::function<void()>& call, const std::function<void()>& after) {
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    arm_step(n);
    call();
    const bool was_met = disarm_steps() >= n;
    if (!was_met) return n - 1;
    after();
  }
}

// The first of the program, so that each child makes the first call of its process.
TEST(NoMemory, TheFirstCallStartsTheBrokerAllTheSame) {
  ASSERT_EQ(g_mode.load(), Mode::Fresh);
  setenv("MSTX_INJECTION_PATH", "/nowhere/a-tool-with-a-long-name.so:/nowhere/and-another-one.so", 1);
  constexpr int kMet = 40;  // what a program ends with by itself is something else
  constexpr int kNotMet = 41;
  int answer = kMet;
  for (uint64_t n = 1; answer == kMet; ++n) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      arm_step(n);
      mstxMarkA("first", nullptr);
      const bool met = disarm_steps() >= n;
      const bool attached = platMstxAttachFunction(PlainTool<1>::init, "plain", nullptr) == PLAT_MSTX_OK;
      _exit(!attached ? 2 : met ? kMet : kNotMet);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    answer = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ASSERT_TRUE(answer == kMet || (answer == kNotMet && n > 2))
        << "allocation " << n << ", status " << status;
  }
  unsetenv("MSTX_INJECTION_PATH");
}

TEST(NoMemory, ADomainWithoutARecordGetsOneTheNextTime) {
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    Registry registry;
    bool failed = false;
    arm_step(n);
    try {
      registry.create_domain("a domain with a long name");
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    disarm_steps();
    const Handle domain = registry.create_domain("a domain with a long name");
    const Handle other = registry.create_domain("another one");
    ASSERT_TRUE(domain && other && domain != other);
    EXPECT_EQ(*registry.domains.live(domain)->name, "a domain with a long name");
    EXPECT_EQ(registry.domains.live(other)->references, 1U);
    EXPECT_EQ(registry.destroy_domain(domain), failed);  // otherwise it was created twice
    if (!failed) break;
  }
}

class NoMemoryCalls : public ::testing::Test {
 protected:
  void SetUp() override { tool_ = attach<PlainTool<1>>(); }
  void TearDown() override {
    EXPECT_EQ(platMstxDetach(tool_), PLAT_MSTX_OK);
    platMstxRemember(0);
  }
  // What a newcomer hears of.
  static platMstxReplay_t kept() {
    EXPECT_EQ(platMstxDetach(attach<PlainTool<2>>()), PLAT_MSTX_OK);
    return PlainTool<2>::replay;
  }

  platMstxToolId_t tool_ = 0;
};

TEST_F(NoMemoryCalls, NoDomainIsMade) {
  mstxDomainHandle_t domain = nullptr;
  const auto failures = fail_each([&] { domain = mstxDomainCreateA("a domain with a long name"); },
                                  [&] {
                                    EXPECT_EQ(domain, nullptr);
                                    EXPECT_EQ(kept().domainCount, 0U);
                                  });
  EXPECT_GT(failures, 0U);
  EXPECT_NE(domain, nullptr);
  EXPECT_EQ(kept().domainCount, 1U);
}

TEST_F(NoMemoryCalls, NoHeapIsMade) {
  mstxMemHeapHandle_t heap = nullptr;
  const auto failures = fail_each([&] { heap = mstx_words::heap(&heap, 64, nullptr); },
                                  [&] {
                                    EXPECT_EQ(heap, nullptr);
                                    EXPECT_EQ(kept().heapCount, 0U);
                                  });
  EXPECT_GT(failures, 0U);
  EXPECT_NE(heap, nullptr);
  EXPECT_EQ(kept().heapCount, 1U);
}

TEST_F(NoMemoryCalls, NoneOfABatchOfRegionsIsMade) {
  constexpr size_t kCount = 40;  // more than fit on the stack
  mstxMemVirtualRangeDesc_t ranges[kCount];
  for (size_t i = 0; i < kCount; ++i) ranges[i] = {0, reinterpret_cast<void*>(0x10000 + 64 * i), 64};
  mstxMemRegionHandle_t handles[kCount] = {};
  const mstxMemRegionsRegisterBatch_t batch{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, kCount, ranges, handles};
  bool told = false;
  const auto failures = fail_each([&] { mstxMemRegionsRegister(nullptr, &batch); },
                                  [&] {
                                    told = told || handles[0] != nullptr;
                                    EXPECT_EQ(kept().regionCount, 0U);
                                  });
  EXPECT_GT(failures, kCount);
  EXPECT_FALSE(told);
  EXPECT_EQ(kept().regionCount, kCount);
}

TEST_F(NoMemoryCalls, ARangeIsNotStarted) {
  mstxRangeId id = 0;
  EXPECT_EQ(fail_each([&] { id = mstxRangeStartA("range", nullptr); }, [&] { EXPECT_EQ(id, 0U); }), 1U);
  EXPECT_EQ(id, 7U);
  mstxRangeEnd(id);
}

TEST_F(NoMemoryCalls, OurOwnSaySo) {
  const auto heap = mstx_words::heap(&tool_, 64, nullptr);
  int code = PLAT_MSTX_OK;
  const auto says_so = [&] { EXPECT_EQ(code, PLAT_MSTX_NO_MEMORY); };
  EXPECT_GT(
      fail_each([&] { code = platMstxMemHeapName(nullptr, heap, "a name that needs memory"); }, says_so), 0U);
  EXPECT_EQ(code, PLAT_MSTX_OK);
}

// A tool that was let in half and cannot be told what lives is let go, and its place with it.
TEST_F(NoMemoryCalls, AToolThatCannotBeToldIsLetGo) {
  const auto domain = mstxDomainCreateA("a domain with a long name");
  const auto heap = mstx_words::heap(&tool_, 64, domain);
  for (uint64_t i = 0; i < 10; ++i) mstx_words::region(heap, reinterpret_cast<void*>(64 * i), 64, domain);
  int code = PLAT_MSTX_OK;
  platMstxToolId_t id = 0;
  PlainTool<2>::ends = 0;
  const auto failures = fail_each([&] { code = platMstxAttachFunction(PlainTool<2>::init, "plain", &id); },
                                  [&] { EXPECT_EQ(code, PLAT_MSTX_NO_MEMORY); });
  EXPECT_GT(failures, 8U);
  EXPECT_EQ(PlainTool<2>::ends, static_cast<int>(failures));
  EXPECT_EQ(code, PLAT_MSTX_OK);
  EXPECT_EQ(PlainTool<2>::replay.regionCount, 10U);
  EXPECT_EQ(platMstxDetach(id), PLAT_MSTX_OK);
}

}  // namespace
}  // namespace plat::mstx
