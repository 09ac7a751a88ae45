// SPDX-License-Identifier: Apache-2.0
// Memory that a fault plan breaks: who meets it, who is told, and that a repair makes it whole.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// A block in pages of its own.
char* allocate(size_t size = 4_MiB - 64) {
  void* pointer = nullptr;
  EXPECT_OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_ONLY));
  return static_cast<char*>(pointer);
}

// What the device tells of broken memory.
std::vector<aclrtMemUceInfo> told(int32_t device = 0) {
  std::vector<aclrtMemUceInfo> entries(ACL_RT_MEM_UCE_INFO_MAX_NUM);
  size_t count = 99;
  EXPECT_OK(aclrtGetMemUceInfo(device, entries.data(), entries.size(), &count));
  entries.resize(count);
  return entries;
}

// aclrtMemset of all of it.
aclError fill(void* block, size_t size, int value = 7) { return aclrtMemset(block, size, value, size); }

RULE_BROKEN(MemoryBroken, {"PLAT_FAULT", "malloc, nth=2, uce"}) {
  EXPECT_OK(aclrtSetDevice(0));
  char* whole = allocate();
  char* broken = allocate();
  EXPECT_OK(fill(whole, 64));
  EXPECT_BREAKS(aclrtMemset(broken, 64, 7, 64));

  char host[64] = {};
  EXPECT_BREAKS(aclrtMemcpy(host, 64, broken + 2_MiB - 64, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_BREAKS(aclrtMemcpy(broken + 1_MiB, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_BREAKS(aclrtMemcpy(whole, 64, broken, 64, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT_BREAKS(aclrtMemcpy(whole, 3_MiB, broken + 512_KiB, 3_MiB, ACL_MEMCPY_DEVICE_TO_DEVICE));
  // The second page is whole, however often it is used.
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(fill(broken + 2_MiB, 64));
    EXPECT_OK(aclrtMemcpy(host, 64, broken + 2_MiB, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_BREAKS(aclrtMemcpy(host, 64, broken, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  }
  EXPECT_EQ(host[63], 7);
  // In stream order it shows when the stream is waited for.
  EXPECT_OK(aclrtMemsetAsync(broken, 64, 1, 64, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeStream(nullptr));
}
RULE_KEPT(MemoryBroken, {"PLAT_FAULT", "malloc, nth=2, uce"}) {
  EXPECT_OK(aclrtSetDevice(0));
  char* whole = allocate();
  char* broken = allocate();
  EXPECT_OK(fill(whole, 4_MiB - 64));
  EXPECT_OK(aclrtFree(broken));

  // What is freed is no longer broken, nor is what comes to the same place.
  char* again = allocate();
  EXPECT_OK(fill(again, 4_MiB - 64));
  EXPECT_TRUE(told().empty());
}

RULE_BROKEN(RepairRoom, {"PLAT_FAULT", "malloc, every=1, uce"}) {
  EXPECT_OK(aclrtSetDevice(0));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fill(allocate(), 64), 507053);
  aclrtMemUceInfo entries[21] = {};
  size_t count = 5;
  EXPECT_BREAKS(aclrtGetMemUceInfo(0, entries, 1, &count));
  EXPECT_EQ(count, 5u);
  EXPECT_BREAKS(aclrtMemUceRepair(0, entries, 21));
}
RULE_KEPT(RepairRoom, {"PLAT_FAULT", "malloc, every=1, uce"}) {
  EXPECT_OK(aclrtSetDevice(0));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fill(allocate(), 64), 507053);
  aclrtMemUceInfo entries[2] = {};
  size_t count = 0;
  EXPECT_OK(aclrtGetMemUceInfo(0, entries, 2, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(entries[0].len, 2_MiB);
}

RULE_BROKEN(RepairRange, {"PLAT_FAULT", "malloc, nth=1, uce"}) {
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSetDevice(0));
  char* broken = allocate();
  aclrtMemUceInfo entry{};
  entry.addr = broken;
  entry.len = 2_MiB;
  EXPECT_BREAKS(aclrtMemUceRepair(0, &entry, 1));

  // Nobody has met it until now; then it is known, by its start and its device.
  EXPECT_EQ(fill(broken, 64), 507053);
  EXPECT_BREAKS(aclrtMemUceRepair(1, &entry, 1));
  entry.addr = broken + 64;
  EXPECT_BREAKS(aclrtMemUceRepair(0, &entry, 1));
  // All or none.
  aclrtMemUceInfo both[2] = {told().at(0), entry};
  EXPECT_BREAKS(aclrtMemUceRepair(0, both, 2));
  EXPECT_EQ(told().size(), 1u);
  EXPECT_OK(aclrtMemUceRepair(0, both, 1));
  EXPECT_BREAKS(aclrtMemUceRepair(0, both, 1));
}
RULE_KEPT(RepairRange, {"PLAT_FAULT", "malloc, nth=1, uce"}) {
  EXPECT_OK(aclrtSetDevice(0));
  char* broken = allocate();
  EXPECT_EQ(fill(broken + 2_MiB, 64), ACL_SUCCESS);
  EXPECT_EQ(fill(broken, 4_MiB - 64), 507053);
  auto entries = told();
  EXPECT_EQ(entries.at(0).addr, broken);
  EXPECT_OK(aclrtMemUceRepair(0, entries.data(), entries.size()));

  // Whole again, and what was in it is lost; its neighbour is as it was.
  char host[64];
  EXPECT_OK(aclrtMemcpy(host, 64, broken, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(host[5], 0);
  EXPECT_OK(aclrtMemcpy(host, 64, broken + 2_MiB, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(host[5], 7);
  EXPECT_OK(fill(broken, 4_MiB - 64));
  EXPECT_TRUE(told().empty());
}

RULE_BROKEN(RepairTold, {"PLAT_FAULT", "malloc, nth=1, uce"}) {
  EXPECT_OK(aclrtSetDevice(0));
  aclrtErrorInfo info{};
  EXPECT_OK(aclrtGetErrorVerbose(0, &info));
  EXPECT_EQ(info.errorType, ACL_RT_NO_ERROR);
  EXPECT_BREAKS(aclrtRepairError(0, &info));

  EXPECT_EQ(fill(allocate(), 64), 507053);
  EXPECT_OK(aclrtGetErrorVerbose(0, &info));
  info.errorType = ACL_RT_ERROR_LINK;
  EXPECT_BREAKS(aclrtRepairError(0, &info));
  info.errorType = ACL_RT_ERROR_MEMORY;
  info.detail.uceInfo.arraySize = 21;
  EXPECT_BREAKS(aclrtRepairError(0, &info));
}
RULE_KEPT(RepairTold, {"PLAT_FAULT", "malloc, nth=1, uce"}) {
  EXPECT_OK(aclrtSetDevice(0));
  char* broken = allocate();
  EXPECT_EQ(fill(broken, 64), 507053);
  aclrtErrorInfo info{};
  EXPECT_OK(aclrtGetErrorVerbose(0, &info));
  EXPECT_EQ(info.errorType, ACL_RT_ERROR_MEMORY);
  EXPECT_EQ(info.tryRepair, 1);
  EXPECT_EQ(info.hasDetail, 1);
  EXPECT_EQ(info.detail.uceInfo.arraySize, 1u);
  EXPECT_EQ(info.detail.uceInfo.memUceInfoArray[0].addr, broken);
  EXPECT_OK(aclrtRepairError(0, &info));
  EXPECT_OK(fill(broken, 64));
  EXPECT_OK(aclrtGetErrorVerbose(0, &info));
  EXPECT_EQ(info.tryRepair, 0);
}

TEST(BrokenMemory, ChecksInOrder) {
  run({}, [] {
    aclrtMemUceInfo entry{};
    size_t count = 0;
    EXPECT_EQ(aclrtGetMemUceInfo(99, nullptr, 1, &count), 100000);
    EXPECT_EQ(aclrtGetMemUceInfo(99, &entry, 1, nullptr), 100000);
    EXPECT_EQ(aclrtGetMemUceInfo(99, &entry, 1, &count), 107001);
    EXPECT_EQ(aclrtGetMemUceInfo(-1, &entry, 1, &count), 107001);
    EXPECT_EQ(aclrtMemUceRepair(99, nullptr, 1), 100000);
    reinterpret_cast<char*>(entry.reserved)[13] = 1;
    EXPECT_EQ(aclrtMemUceRepair(99, &entry, 1), 100000);
    entry.reserved[0] = entry.reserved[1] = 0;
    entry.reserved[5] = 1;  // nobody looks there
    EXPECT_EQ(aclrtMemUceRepair(99, &entry, 1), 107001);
    EXPECT_EQ(aclrtMemUceRepair(0, &entry, 0), ACL_SUCCESS);
    aclrtErrorInfo info{};
    EXPECT_EQ(aclrtGetErrorVerbose(99, nullptr), 100000);
    EXPECT_EQ(aclrtGetErrorVerbose(99, &info), 107001);
    EXPECT_EQ(aclrtRepairError(99, nullptr), 100000);
    EXPECT_EQ(aclrtRepairError(99, &info), 107000);
    info.tryRepair = 1;
    EXPECT_EQ(aclrtRepairError(99, &info), 107001);
    // A healthy device, without a context.
    EXPECT_EQ(aclrtGetMemUceInfo(0, &entry, 0, &count), ACL_SUCCESS);
    EXPECT_EQ(count, 0u);
  });
  run({{"PLAT_PRODUCT", "inference"}}, [] {
    aclrtMemUceInfo entry{};
    size_t count = 0;
    aclrtErrorInfo info{};
    info.tryRepair = 1;
    EXPECT_EQ(aclrtGetMemUceInfo(99, &entry, 1, &count), 207000);
    EXPECT_EQ(aclrtMemUceRepair(99, &entry, 1), 207000);
    EXPECT_EQ(aclrtGetErrorVerbose(99, &info), 207000);
    EXPECT_EQ(aclrtRepairError(99, &info), 207000);
  });
}

TEST(BrokenMemory, IsMappedMemoryToo) {
  run({{"PLAT_FAULT", "map, nth=1, uce"}}, [] {
    Memory m;
    EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, m.handle, 0));
    EXPECT_EQ(fill(m.va, 64), 507053);
    EXPECT_EQ(told().size(), 1u);
    EXPECT_OK(aclrtUnmapMem(m.va));
    EXPECT_TRUE(told().empty());
    EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, m.handle, 0));
    EXPECT_OK(fill(m.va, 64));
  });
}

// A small block may come from a page that is there: then the next page breaks, of the same thread.
TEST(BrokenMemory, WaitsForAPage) {
  run({{"PLAT_FAULT", "malloc, nth=2, uce"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* first = nullptr;
    void* second = nullptr;
    EXPECT_OK(aclrtMalloc(&first, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));
    EXPECT_OK(aclrtMalloc(&second, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));
    EXPECT_OK(fill(first, 4096));
    EXPECT_OK(fill(second, 4096));
    void* pinned = nullptr;
    EXPECT_OK(aclrtMallocHost(&pinned, 2_MiB));
    std::memset(pinned, 1, 2_MiB);
    EXPECT_EQ(fill(allocate(), 64), 507053);
    EXPECT_OK(fill(first, 4096));
  });
}

TEST(BrokenMemory, IsOfTwentyPagesAtMost) {
  run({{"PLAT_FAULT", "malloc, every=1, uce"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    int broken = 0;
    for (int i = 0; i < 25; ++i) broken += fill(allocate(2_MiB - 64), 64) == 507053 ? 1 : 0;
    EXPECT_EQ(broken, 20);
    EXPECT_EQ(told().size(), 20u);
  });
}

TEST(BrokenMemory, IsToldToExceptionCallbacks) {
  run({{"PLAT_FAULT", "malloc, nth=1, uce"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    static std::atomic<uint32_t> code{0};
    EXPECT_OK(aclrtExceptionInfoCallbackRegister(
        [](aclrtExceptionInfo* info) { code = aclrtGetErrorCodeFromExceptionInfo(info); }));
    EXPECT_OK(aclrtMemsetAsync(allocate(), 64, 1, 64, nullptr));
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 507053);
    EXPECT_EQ(code, 507053u);
  });
}

// Threads use what is whole while others meet what is broken, and one repairs it.
TEST(BrokenMemory, ThreadsMeetAndRepair) {
  run({{"PLAT_FAULT", "malloc, nth=1, uce"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    char* broken = allocate();
    char* whole = allocate();
    std::atomic<bool> repaired{false};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread)
      threads.emplace_back([&] {
        EXPECT_OK(aclrtSetDevice(0));
        char host[64] = {};
        for (int round = 0; round < 2000; ++round) {
          const bool must_work = repaired;
          EXPECT_OK(aclrtMemcpy(host, 64, whole, 64, ACL_MEMCPY_DEVICE_TO_HOST));
          EXPECT_OK(aclrtMemcpy(host, 64, broken + 2_MiB, 64, ACL_MEMCPY_DEVICE_TO_HOST));
          const aclError code = aclrtMemcpy(host, 64, broken, 64, ACL_MEMCPY_DEVICE_TO_HOST);
          EXPECT_TRUE(code == ACL_SUCCESS || (code == 507053 && !must_work)) << code;
        }
      });
    while (told().empty()) std::this_thread::yield();
    auto entries = told();
    EXPECT_OK(aclrtMemUceRepair(0, entries.data(), entries.size()));
    repaired = true;
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace plat::rule_test
