// SPDX-License-Identifier: Apache-2.0
// Faults that the user planned: what they do to calls, and that nothing else changes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// What aclrtMalloc gives.
void* take(size_t size, aclError expected = ACL_SUCCESS) {
  void* pointer = nullptr;
  EXPECT_EQ(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_ONLY), expected) << aclGetRecentErrMsg();
  return pointer;
}

// What aclrtGetMemInfo tells of device memory.
size_t total_bytes() {
  size_t free_bytes = 0, total = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  return total;
}

RULE_BROKEN(FaultInjected, {"PLAT_FAULT", "aclrtMalloc, nth=2, fail=507899"}) {
  EXPECT_OK(aclrtSetDevice(0));
  void* first = take(4096);
  void* second = nullptr;
  EXPECT_BREAKS(aclrtMalloc(&second, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(second, nullptr);
  EXPECT_OK(aclrtMalloc(&second, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclrtFree(second));
  EXPECT_OK(aclrtFree(first));
}
RULE_KEPT(FaultInjected, {"PLAT_FAULT", "aclrtMalloc, nth=2, fail=507899"}) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtFree(take(4096)));
}

RULE_BROKEN(FaultCapacity, {"PLAT_FAULT", "capacity, after=8MiB"}) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_EQ(total_bytes(), 64_MiB);
  void* first = take(6_MiB - 64);
  void* second = nullptr;
  EXPECT_BREAKS(aclrtMalloc(&second, 4_MiB - 64, ACL_MEM_MALLOC_HUGE_ONLY));
  EXPECT_EQ(total_bytes(), 8_MiB);
  EXPECT_OK(aclrtFree(first));
  EXPECT_OK(aclrtFree(take(4_MiB - 64)));
}
RULE_KEPT(FaultCapacity, {"PLAT_FAULT", "capacity, after=8MiB"}) {
  EXPECT_OK(aclrtSetDevice(0));
  for (int i = 0; i < 20; ++i) EXPECT_OK(aclrtFree(take(6_MiB - 64)));
}

// A plan that is not understood is no plan: nothing runs until it is corrected.
TEST(FaultPlan, MustNameCallsThatAreThere) {
  for (const char* plan : {"aclrtMaloc, nth=1, fail=1", "malloc"})
    run({{"PLAT_FAULT", plan}}, [plan] {
      EXPECT_EQ(aclInit(nullptr), ACL_ERROR_RT_DEV_SETUP_ERROR);
      EXPECT_NE(std::string(aclGetRecentErrMsg()).find(plan), std::string::npos) << aclGetRecentErrMsg();
    });
  // Each word, as the library knows it.
  std::string every_word;
  for (const char* word : {"any", "malloc", "free", "reserve", "release", "map", "unmap", "export", "import",
                           "memcpy", "memset", "stream", "event", "sync"})
    every_word += std::string(word) + ", nth=1000, fail=1;";
  run({{"PLAT_FAULT", every_word}}, [] { EXPECT_OK(aclInit(nullptr)); });
}

TEST(FaultPlan, KillsAtTheChosenCall) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("PLAT_NODE", "private", 1);
    setenv("PLAT_CAPACITY", "64MiB", 1);
    setenv("PLAT_FAULT", "aclrtFree, nth=2, kill", 1);
    void* pointer = nullptr;
    aclrtSetDevice(0);
    for (int i = 0; i < 2; ++i)
      if (aclrtMalloc(&pointer, 4096, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS ||
          aclrtFree(pointer) != ACL_SUCCESS)
        _exit(1);
    _exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

// A copy that is held back comes after what another stream is given later; an event still orders them.
TEST(FaultPlan, DelaysTheStreamThatTheCallFeeds) {
  for (const char* mode : {"pool", "eager", "seeded:1"})
    run({{"PLAT_FAULT", "aclrtLaunchHostFunc, nth=1, delay=20ms"}, {"PLAT_STREAMS", mode}}, [] {
      EXPECT_OK(aclrtSetDevice(0));
      aclrtStream slow = nullptr;
      EXPECT_OK(aclrtCreateStream(&slow));
      static std::atomic<int64_t> ran_after_us{-1};
      static std::chrono::steady_clock::time_point begin;
      begin = std::chrono::steady_clock::now();
      EXPECT_OK(aclrtLaunchHostFunc(
          slow,
          [](void*) {
            ran_after_us = std::chrono::duration_cast<std::chrono::microseconds>(
                               std::chrono::steady_clock::now() - begin)
                               .count();
          },
          nullptr));
      EXPECT_OK(aclrtSynchronizeStream(slow));
      EXPECT_GE(ran_after_us, 20'000);  // no upper bound: the machine may be busy
    });
}

TEST(FaultPlan, FailsEveryTenthOfAGroup) {
  run({{"PLAT_FAULT", "memset, every=10, fail=507899"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* block = take(2_MiB - 64);
    int failed = 0;
    for (int i = 0; i < 100; ++i) failed += aclrtMemset(block, 64, i, 64) == 507899 ? 1 : 0;
    EXPECT_EQ(failed, 10);
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find("clause 1 of the fault plan"), std::string::npos);
  });
}

}  // namespace
}  // namespace plat::rule_test
