// SPDX-License-Identifier: Apache-2.0
// A thread that is cancelled ends between calls, never inside one: whatever a call has begun, it finishes.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <vector>

#include "acl/acl.h"

namespace {

constexpr size_t kSize = 4 << 20;

struct Doomed {
  std::function<void()> work;
  std::atomic<bool> finished{false};
};

// Runs the work in a thread that was cancelled before it began; whether the thread got through to its end.
bool finishes(std::function<void()> work) {
  Doomed doomed{std::move(work)};
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    auto& self = *static_cast<Doomed*>(argument);
    pthread_cancel(pthread_self());
    self.work();
    self.finished = true;
    pthread_testcancel();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, nullptr, run, &doomed), 0);
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED) << "the request was not lost";
  return doomed.finished;
}

class Cancel : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }

  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
};

// Allocating locks files, the first write takes memory through one, and a failure writes to the log.
TEST_F(Cancel, CallsThatAskTheSystemFinish) {
  std::vector<char> host(kSize, 1);
  EXPECT_TRUE(finishes([&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, kSize, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(block, kSize, host.data(), kSize, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpyAsync(host.data(), kSize, block, kSize, ACL_MEMCPY_DEVICE_TO_HOST, stream),
              ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
    EXPECT_NE(aclrtFree(block), ACL_SUCCESS);
    EXPECT_NE(aclrtMemcpyAsync(host.data(), 1, block, 2, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  }));
}

// Mapping asks the system for nothing; the last mapping of a freed handle gives its memory back.
TEST_F(Cancel, AnUnmapThatGivesMemoryBackFinishes) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  void* start = nullptr;
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  std::vector<char> host(kSize, 1);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  ASSERT_EQ(aclrtReserveMemAddress(&start, kSize, 0, nullptr, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocPhysical(&handle, kSize, &prop, 0), ACL_SUCCESS);
  EXPECT_TRUE(finishes([&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    EXPECT_EQ(aclrtMapMem(start, kSize, 0, handle, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(start, kSize, host.data(), kSize, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    EXPECT_EQ(aclrtUnmapMem(start), ACL_SUCCESS);
  }));
  EXPECT_EQ(aclrtReleaseMemAddress(start), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  EXPECT_EQ(after, before);
}

TEST_F(Cancel, WaitsFinish) {
  std::atomic<bool> waiting{false};
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream,
                [](void* flag) {
                  while (!static_cast<std::atomic<bool>*>(flag)->load()) sched_yield();
                },
                &waiting),
            ACL_SUCCESS);
  EXPECT_TRUE(finishes([&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    waiting = true;
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  }));
}

}  // namespace
