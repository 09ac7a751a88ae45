// SPDX-License-Identifier: Apache-2.0
// The shorter names of C++ pass everything on.
#include "acl/acl_rt_api.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "acl/acl.h"

namespace plat::acl {
namespace {

struct CppApi : testing::Test {
  CppApi() { EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS); }
  ~CppApi() override { EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS); }
};

TEST_F(CppApi, MakesStreamsAndEventsAndWaits) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream, 5, ACL_STREAM_FAST_LAUNCH), ACL_SUCCESS);
  uint32_t priority = 0;
  EXPECT_EQ(aclrtStreamGetPriority(stream, &priority), ACL_SUCCESS);
  EXPECT_EQ(priority, 5u);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(stream, event, 60), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event, 60000), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream, 60000), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(60000), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream, 0), 107000);  // refused below, as by its longer name
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(CppApi, CopiesElements) {
  float* on_device = nullptr;
  float* other = nullptr;
  float* pinned = nullptr;
  ASSERT_EQ(aclrtMalloc(&on_device, 4 * sizeof(float)), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&other, 4 * sizeof(float), ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&pinned, 4 * sizeof(float)), ACL_SUCCESS);
  const std::vector<float> written = {1, 2, 3, 4};
  std::vector<float> read(4);
  EXPECT_EQ(aclrtMemcpy(on_device, 16, written.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(other, 16, on_device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(pinned, 16, other, 16, ACL_MEMCPY_DEVICE_TO_HOST, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(std::vector<float>(pinned, pinned + 4), written);
  EXPECT_EQ(aclrtMemcpy2d(read.data(), 8, on_device, 8, 8, 2, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(read, written);
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(aclrtPointerGetAttributes(on_device, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(aclrtFree(on_device), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(other), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
}

TEST_F(CppApi, CopiesBatches) {
  float* on_device = nullptr;
  ASSERT_EQ(aclrtMalloc(&on_device, 4 * sizeof(float)), ACL_SUCCESS);
  const float written[2] = {5, 6};
  float* targets[] = {on_device, on_device + 2};
  const float* sources[] = {&written[0], &written[1]};
  size_t sizes[] = {4, 4};
  aclrtMemcpyBatchAttr attribute{};
  attribute.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  attribute.srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST};
  EXPECT_EQ(aclrtMemcpyBatch(targets, sizes, sources, sizes, 2, attribute), ACL_SUCCESS);
  float read = 0;
  EXPECT_EQ(aclrtMemcpy(&read, 4, on_device + 2, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(read, 6);
  EXPECT_EQ(aclrtMemcpyBatchAsync(targets, sizes, sources, sizes, 2, attribute, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(on_device), ACL_SUCCESS);
}

TEST_F(CppApi, RegistersAndManages) {
  constexpr size_t kPage = 65536;  // whole pages of every system
  auto* memory = static_cast<int*>(std::aligned_alloc(kPage, kPage));
  int* view = nullptr;
  EXPECT_EQ(aclrtHostRegister(memory, kPage, ACL_HOST_REGISTER_MAPPED, &view), ACL_SUCCESS);
  EXPECT_NE(view, nullptr);
  EXPECT_EQ(aclrtHostUnregister(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostRegister(memory, kPage, uint32_t{ACL_HOST_REG_MAPPED}), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostGetDevicePointer(memory, &view, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(memory), ACL_SUCCESS);
  std::free(memory);
  int* managed = nullptr;
  ASSERT_EQ(aclrtMemAllocManaged(&managed, 2 << 20), ACL_SUCCESS);
  const aclrtMemManagedLocation device{ACL_MEM_LOCATIONTYPE_DEVICE, 0};
  const int* parts[] = {managed};
  size_t sizes[] = {2 << 20};
  EXPECT_EQ(aclrtMemManagedPrefetchAsync(managed, 2 << 20, device, 0, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemManagedPrefetchBatchAsync(parts, sizes, 1, device, 0, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(managed), ACL_SUCCESS);
}

}  // namespace
}  // namespace plat::acl
