// SPDX-License-Identifier: Apache-2.0
// What public clients do, well or badly: each habit that was seen, and that breaks somebody when it fails.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  return free;
}

TEST(Habits, AskingBeforeAnythingIsSetLeavesTheOutputAlone) {
  run({}, [] {
    int32_t device = 77;
    EXPECT_EQ(aclrtGetDevice(&device), 107002);
    EXPECT_EQ(device, 77);
    aclrtContext context = &device;
    EXPECT_EQ(aclrtGetCurrentContext(&context), 107002);
    EXPECT_EQ(context, &device);
    ASSERT_NE(aclGetRecentErrMsg(), nullptr);
    std::thread([] { EXPECT_STREQ(aclGetRecentErrMsg(), ""); }).join();
    size_t granularity = 0;
    aclrtPhysicalMemProp prop = device_prop();
    EXPECT_OK(
        aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &granularity));
    EXPECT_EQ(granularity, 2_MiB);
    aclrtRunMode mode = ACL_DEVICE;
    EXPECT_OK(aclrtGetRunMode(&mode));
    EXPECT_EQ(mode, ACL_HOST);
    uint32_t count = 0;
    EXPECT_OK(aclrtGetDeviceCount(&count));
    EXPECT_EQ(count, 2U);
    int32_t pid = 0;
    EXPECT_OK(aclrtDeviceGetBareTgid(&pid));
    EXPECT_EQ(pid, getpid());
  });
  run({{"PLAT_PRODUCT", "200i-a2-rc"}}, [] {
    aclrtRunMode mode = ACL_HOST;
    EXPECT_OK(aclrtGetRunMode(&mode));
    EXPECT_EQ(mode, ACL_DEVICE);
  });
}

TEST(Habits, InitialisingTwiceAndFinalisingTwice) {
  run({}, [] {
    EXPECT_OK(aclInit(nullptr));
    EXPECT_EQ(aclInit(nullptr), 100002);
    EXPECT_OK(aclrtSetDevice(0));
    uint64_t count = 9;
    EXPECT_OK(aclFinalizeReference(&count));
    EXPECT_EQ(count, 1U);
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_OK(aclFinalize());
    EXPECT_EQ(aclFinalize(), 100037);
  });
}

TEST(Habits, NamesThatClientsKnow) {
  for (const auto& [product, name] : {std::pair("a2", "Ascend910B3"), std::pair("a3", "Ascend910_9391")})
    run({{"PLAT_PRODUCT", product}}, [name = name] { EXPECT_STREQ(aclrtGetSocName(), name); });
}

// Set several times, reset as often, and everything is still taken down afterwards.
TEST(Habits, TearingDownAfterTheLastReset) {
  run({}, [] {
    for (int i = 0; i < 3; ++i) EXPECT_OK(aclrtSetDevice(0));
    const size_t before = free_bytes();
    void* va = reserve(4_MiB);
    aclrtDrvMemHandle handle = physical(2_MiB);
    EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, handle, 0));
    void* block = nullptr;
    EXPECT_OK(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < 3; ++i) EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclrtUnmapMem(va));
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtReleaseMemAddress(va));
    EXPECT_OK(aclrtFree(block));
    EXPECT_NE(aclrtFreePhysical(handle), ACL_SUCCESS) << "a stale handle is an error, no crash";
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_EQ(free_bytes(), before);
  });
}

// A framework reserves 9/8 of the device, in a size that is no multiple of 2 MiB, with flags 1, from a thread
// without a context; maps at any 2 MiB; one handle at two addresses; frees it while it is mapped.
TEST(Habits, ExpandableSegments) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    const size_t before = free_bytes();
    void* va = nullptr;
    std::thread([&] { EXPECT_OK(aclrtReserveMemAddress(&va, 72_MiB + 12345, 0, nullptr, 1)); }).join();
    EXPECT_EQ(free_bytes(), before) << "addresses cost no memory";
    aclrtDrvMemHandle handle = physical(2_MiB);
    EXPECT_EQ(before - free_bytes(), 2_MiB);
    void* places[] = {offset(va, 10_MiB), offset(va, 30_MiB)};
    for (void* place : places) EXPECT_OK(aclrtMapMem(place, 2_MiB, 0, handle, 0));
    const uint64_t written = 0x1234567890ABCDEF;
    uint64_t read = 0;
    EXPECT_OK(aclrtMemcpy(places[0], 8, &written, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpy(&read, 8, places[1], 8, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(read, written);
    EXPECT_OK(aclrtUnmapMem(places[0]));
    EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, handle, 0));
    EXPECT_OK(aclrtFreePhysical(handle));
    EXPECT_OK(aclrtMemcpy(&read, 8, va, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(before - free_bytes(), 2_MiB) << "mapped memory stays";
    EXPECT_OK(aclrtUnmapMem(va));
    EXPECT_OK(aclrtUnmapMem(places[1]));
    EXPECT_OK(aclrtReleaseMemAddress(va));
    EXPECT_EQ(free_bytes(), before);
  });
}

TEST(Habits, FreeingSomethingAndTryingAgain) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    std::vector<void*> blocks;
    void* block = nullptr;
    aclError code = ACL_SUCCESS;
    while ((code = aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_FIRST)) == ACL_SUCCESS)
      blocks.push_back(block);
    EXPECT_EQ(code, 207001);
    ASSERT_FALSE(blocks.empty());
    EXPECT_OK(aclrtFree(blocks.back()));
    EXPECT_OK(aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_FIRST));
  });
}

// Only what is touched takes memory of the machine, so most of the device can be had at once.
TEST(Habits, NearlyAllOfTheDeviceInOneBlock) {
  run({{"PLAT_CAPACITY", "64GiB"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    const size_t most = free_bytes() / 100 * 94;
    void* block = nullptr;
    EXPECT_OK(aclrtMalloc(&block, most, static_cast<aclrtMemMallocPolicy>(0x1000)));
    const char byte = 1;
    EXPECT_OK(aclrtMemcpy(offset(block, most - 1), 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtFree(block));
  });
}

TEST(Habits, CopiesAndFillsThatHardwareTakes) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* block = nullptr;
    void* pinned = nullptr;
    EXPECT_OK(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMallocHost(&pinned, 64));
    EXPECT_OK(aclrtMemset(pinned, 64, 0x5A, 64));
    EXPECT_EQ(*static_cast<unsigned char*>(pinned), 0x5A);
    // A destMax larger than what is left, or even an address.
    EXPECT_OK(aclrtMemcpy(block, SIZE_MAX, pinned, 64, ACL_MEMCPY_DEFAULT));
    EXPECT_OK(aclrtMemcpy(block, reinterpret_cast<size_t>(block), pinned, 64, ACL_MEMCPY_DEFAULT));
    EXPECT_OK(aclrtMemset(block, 4096, 0x1FF, 64));  // the low byte counts
    unsigned char back[64] = {};
    EXPECT_OK(aclrtMemcpy(back, sizeof(back), block, 64, ACL_MEMCPY_DEFAULT));
    EXPECT_EQ(back[63], 0xFF);
  });
}

TEST(Habits, AttributesOfAnyAddress) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(1));
    Memory m;
    m.map();
    EXPECT_OK(aclrtSetDevice(1));
    void* block = nullptr;
    void* pinned = nullptr;
    EXPECT_OK(aclrtMalloc(&block, 3_MiB, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMallocHost(&pinned, 64));
    static int in_data = 0;
    int on_stack = 0;
    const std::vector<char> on_heap(64);
    const auto expect = [](const void* at, aclrtMemLocationType type, uint32_t id, uint32_t page) {
      aclrtPtrAttributes attributes{};
      EXPECT_OK(aclrtPointerGetAttributes(at, &attributes));
      EXPECT_EQ(attributes.location.type, type);
      EXPECT_EQ(attributes.location.id, id);
      if (page != 0) {
        EXPECT_EQ(attributes.pageSize, page);
      }
    };
    expect(block, ACL_MEM_LOCATION_TYPE_DEVICE, 1, 2_MiB);
    expect(offset(block, 1_MiB), ACL_MEM_LOCATION_TYPE_DEVICE, 1, 2_MiB);
    expect(m.va, ACL_MEM_LOCATION_TYPE_DEVICE, 0, 2_MiB);
    expect(offset(pinned, 8), ACL_MEM_LOCATION_TYPE_HOST, 0, 0);
    for (const void* at : {static_cast<const void*>(&in_data), static_cast<const void*>(&on_stack),
                           static_cast<const void*>(on_heap.data())})
      expect(at, ACL_MEM_LOCATION_TYPE_UNREGISTERED, 0, 0);
  });
}

// Two streams that rely on each other, host functions in stream order, and queries of what is not complete.
TEST(Habits, OrderAcrossStreams) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    std::vector<aclrtStream> streams(200);
    for (auto& stream : streams) EXPECT_OK(aclrtCreateStream(&stream));
    aclrtEvent event = nullptr;
    EXPECT_OK(aclrtCreateEvent(&event));
    std::atomic<bool> open{false};
    static std::vector<int> order;
    EXPECT_OK(aclrtLaunchHostFunc(
        streams[0],
        [](void* gate) {
          while (!*static_cast<std::atomic<bool>*>(gate)) std::this_thread::yield();
          order.push_back(1);
        },
        &open));
    EXPECT_OK(aclrtRecordEvent(event, streams[0]));
    EXPECT_OK(aclrtStreamWaitEvent(streams[1], event));
    EXPECT_OK(aclrtLaunchHostFunc(
        streams[1], [](void*) { order.push_back(2); }, nullptr));
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    EXPECT_OK(aclrtStreamQuery(streams[1], &status));
    EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
    open = true;
    EXPECT_OK(aclrtSynchronizeStream(streams[1]));
    EXPECT_EQ(order, (std::vector{1, 2}));
    EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_COMPLETE);
    for (aclrtStream stream : streams) EXPECT_OK(aclrtDestroyStream(stream));
  });
}

// Engines that use host memory in place.
TEST(Habits, HostMemoryForEngines) {
  for (const bool newer : {false, true})
    run({{"PLAT_PRODUCT", newer ? "950" : "a2"}}, [&] {
      for (int engine = ACL_RT_HAC_TYPE_STARS; engine <= ACL_RT_HAC_TYPE_CCU; ++engine) {
        aclrtHostMemMapCapability can{};
        EXPECT_OK(aclrtHostMemMapCapabilities(0, static_cast<aclrtHacType>(engine), &can));
        const bool newest = engine == ACL_RT_HAC_TYPE_UDMA || engine == ACL_RT_HAC_TYPE_CCU;
        EXPECT_EQ(can == ACL_RT_HOST_MEM_MAP_SUPPORTED, newer || !newest) << engine;
      }
      aclrtHostMemMapCapability can{};
      EXPECT_EQ(aclrtHostMemMapCapabilities(0, static_cast<aclrtHacType>(99), &can), 107000);
      EXPECT_EQ(aclrtHostMemMapCapabilities(9, ACL_RT_HAC_TYPE_STARS, &can), 107001);
      EXPECT_EQ(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_STARS, nullptr), 100000);
    });
}

// The symbols of operators are not there: a client that looks finds nothing, and takes another way.
TEST(Habits, WhatIsNotBuiltIsNotThere) {
  for (const char* name : {"aclrtGetSymbolAddress", "aclrtGetSymbolSize", "aclrtMemcpyToSymbol",
                           "aclrtMemcpyFromSymbol", "aclrtLaunchKernel", "aclmdlExecute"})
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
}

}  // namespace
}  // namespace plat::rule_test
