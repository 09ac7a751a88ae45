// SPDX-License-Identifier: Apache-2.0
// Managed memory: every rule broken and kept, and what host and device make of it.
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl_rt_managed.h"
#include "rules/memory_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

// The host as a place of managed memory.
constexpr aclrtMemManagedLocation kHost{ACL_MEM_LOCATIONTYPE_HOST, 0};
// No place at all.
constexpr aclrtMemManagedLocation kNowhere{ACL_MEM_LOCATIONTYPE_INVALID, 0};
// A device as a place of managed memory.
aclrtMemManagedLocation device_place(int32_t id) { return {ACL_MEM_LOCATIONTYPE_DEVICE, id}; }

// What aclrtMemAllocManaged gives.
char* managed(uint64_t size) {
  void* memory = nullptr;
  EXPECT_OK(aclrtMemAllocManaged(&memory, size, ACL_RT_MEM_ATTACH_GLOBAL));
  return static_cast<char*>(memory);
}

// What aclrtMemManagedGetAttr tells.
int32_t attribute(int which, const void* memory, size_t size) {
  int32_t value = -99;
  EXPECT_OK(
      aclrtMemManagedGetAttr(static_cast<aclrtMemManagedRangeAttribute>(which), memory, size, &value, 4));
  return value;
}

RULE_BROKEN(ManagedArguments) {
  EXPECT_OK(aclrtSetDevice(0));
  void* out = nullptr;
  EXPECT_BREAKS(aclrtMemAllocManaged(&out, 0, ACL_RT_MEM_ATTACH_GLOBAL));
  char* memory = managed(4_MiB);
  const auto advice = [](int number) { return static_cast<aclrtMemManagedAdviseType>(number); };
  EXPECT_BREAKS(aclrtMemManagedAdvise(memory, 2_MiB, advice(6), kHost));
  EXPECT_BREAKS(aclrtMemManagedAdvise(memory, 2_MiB, advice(-1), kHost));
  EXPECT_BREAKS(aclrtMemManagedAdvise(memory, 2_MiB, ACL_MEM_ADVISE_SET_ACCESSED_BY, device_place(2)));
  EXPECT_BREAKS(aclrtMemManagedAdvise(memory, 2_MiB, ACL_MEM_ADVISE_SET_ACCESSED_BY, device_place(-1)));
  int32_t value = 0;
  for (const int number : {0, 9})
    EXPECT_BREAKS(
        aclrtMemManagedGetAttr(static_cast<aclrtMemManagedRangeAttribute>(number), memory, 2_MiB, &value, 4));
  EXPECT_BREAKS(aclrtMemManagedPrefetchAsync(memory, 2_MiB, device_place(2), 0, nullptr));
  const void* ranges[2] = {memory, memory + 2_MiB};
  size_t sizes[2] = {2_MiB, 2_MiB};
  aclrtMemManagedLocation places[2] = {kHost, kHost};
  size_t late[2] = {1, 1}, twice[2] = {0, 0}, beyond[2] = {0, 2}, good[2] = {0, 1};
  for (size_t* indexes : {late, twice, beyond})
    EXPECT_BREAKS(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 2, places, indexes, 2, 0, nullptr));
  ranges[1] = nullptr;
  EXPECT_BREAKS(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 2, places, good, 2, 0, nullptr));
}
RULE_KEPT(ManagedArguments) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(6_MiB);
  const void* ranges[3] = {memory, memory + 2_MiB, memory + 4_MiB};
  size_t sizes[3] = {2_MiB, 2_MiB, 2_MiB};
  aclrtMemManagedLocation places[2] = {device_place(1), kHost};
  size_t indexes[2] = {0, 2};
  EXPECT_OK(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 3, places, indexes, 2, 0, nullptr));
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, 4_MiB), 1);
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory + 4_MiB, 2_MiB), -1);
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, 6_MiB), -2);  // several
}

RULE_BROKEN(ManagedRoom) {
  EXPECT_OK(aclrtSetDevice(0));
  void* out = nullptr;
  EXPECT_BREAKS(aclrtMemAllocManaged(&out, 3_TiB + 1, ACL_RT_MEM_ATTACH_GLOBAL));
  EXPECT_BREAKS(aclrtMemAllocManaged(&out, UINT64_MAX, ACL_RT_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(out, nullptr);
}
RULE_KEPT(ManagedRoom) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(1);
  aclrtPtrAttributes attributes{};
  EXPECT_OK(aclrtPointerGetAttributes(memory + 2_MiB - 1, &attributes));  // rounded up
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_MANAGED);
  EXPECT_EQ(attributes.pageSize, 2_MiB);
}

RULE_BROKEN(ManagedRange) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(4_MiB);
  int32_t value = 0;
  const auto ask = [&](const void* start, size_t size) {
    return aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, start, size, &value, 4);
  };
  EXPECT_BREAKS(ask(&value, 4));
  EXPECT_BREAKS(ask(malloc_device(), 64));
  EXPECT_BREAKS(ask(memory, 4_MiB + 1));
  EXPECT_BREAKS(ask(memory + 2_MiB, SIZE_MAX));
  EXPECT_BREAKS(aclrtMemManagedAdvise(memory, 1_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, kHost));
  EXPECT_BREAKS(aclrtMemManagedAdvise(memory + 4096, 2_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, kHost));
  // A prefetch is queued; the mistake shows when the stream is waited for.
  EXPECT_OK(aclrtMemManagedPrefetchAsync(memory, 8_MiB, kHost, 0, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtFree(memory));
  EXPECT_BREAKS(ask(memory, 2_MiB));
}
RULE_KEPT(ManagedRange) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(4_MiB);
  EXPECT_OK(aclrtMemManagedAdvise(memory + 2_MiB, 2_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory + 3_MiB, 1), 1);
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 4_MiB), 0);
  EXPECT_OK(aclrtMemManagedAdvise(memory, 4_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 4_MiB), 1);
  EXPECT_OK(aclrtMemManagedAdvise(memory, 4_MiB, ACL_MEM_ADVISE_UNSET_READ_MOSTLY, kNowhere));
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 4_MiB), 0);
}

RULE_BROKEN(ManagedLocation) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(2_MiB);
  EXPECT_BREAKS(aclrtMemManagedAdvise(memory, 2_MiB, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, kNowhere));
  EXPECT_OK(aclrtMemManagedPrefetchAsync(memory, 2_MiB, kNowhere, 0, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeDevice());
}
RULE_KEPT(ManagedLocation) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(4_MiB);
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, 4_MiB), -2);
  EXPECT_OK(aclrtMemManagedAdvise(memory, 4_MiB, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, device_place(1)));
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, 4_MiB), 1);
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory, 4_MiB),
            ACL_MEM_LOCATIONTYPE_DEVICE);
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, memory, 4_MiB), 1);
  EXPECT_OK(aclrtMemManagedAdvise(memory, 2_MiB, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, kHost));
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, 2_MiB), -1);
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, 4_MiB), -2);
  EXPECT_OK(aclrtMemManagedAdvise(memory, 4_MiB, ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION, kNowhere));
  EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory, 4_MiB),
            ACL_MEM_LOCATIONTYPE_INVALID);
}

RULE_BROKEN(ManagedData) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(2_MiB);
  int64_t data = 0;
  EXPECT_BREAKS(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 2_MiB, &data, 8));
  EXPECT_BREAKS(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, 2_MiB, &data, 0));
  EXPECT_BREAKS(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, 2_MiB, &data, 6));
}
RULE_KEPT(ManagedData) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(4_MiB);
  int32_t is_mostly_read = 7;
  EXPECT_OK(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 4_MiB, &is_mostly_read, 4));
  EXPECT_EQ(is_mostly_read, 0);

  for (const auto& place : {device_place(1), device_place(0), device_place(1)})
    EXPECT_OK(aclrtMemManagedAdvise(memory, 4_MiB, ACL_MEM_ADVISE_SET_ACCESSED_BY, place));
  EXPECT_OK(aclrtMemManagedAdvise(memory, 2_MiB, ACL_MEM_ADVISE_SET_ACCESSED_BY, kHost));
  int32_t who[3] = {};
  int32_t mostly = 7;
  void* data[2] = {who, &mostly};
  size_t sizes[2] = {sizeof who, 4};
  aclrtMemManagedRangeAttribute which[2] = {ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                            ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY};
  EXPECT_OK(aclrtMemManagedGetAttrs(which, 2, memory, 4_MiB, data, sizes));
  EXPECT_EQ(who[0], 1);
  EXPECT_EQ(who[1], 0);
  EXPECT_EQ(who[2], -2);  // the host is no accessor of all pages
  EXPECT_EQ(mostly, 0);
  EXPECT_OK(aclrtMemManagedAdvise(memory, 4_MiB, ACL_MEM_ADVISE_UNSET_ACCESSED_BY, device_place(1)));
  EXPECT_OK(aclrtMemManagedGetAttrs(which, 2, memory, 4_MiB, data, sizes));
  EXPECT_EQ(who[0], 0);
  EXPECT_EQ(who[1], -2);
}

RULE_BROKEN(ManagedStream) {
  EXPECT_OK(aclrtSetDevice(0));
  char* memory = managed(2_MiB);
  std::thread([&] { EXPECT_BREAKS(aclrtMemManagedPrefetchAsync(memory, 2_MiB, kHost, 0, nullptr)); }).join();
}
RULE_KEPT(ManagedStream) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtMemManagedPrefetchAsync(managed(2_MiB), 2_MiB, kHost, 0, nullptr));
  EXPECT_OK(aclrtSynchronizeDevice());
}

TEST(Managed, ChecksInOrder) {
  run({}, [] {
    void* out = nullptr;
    EXPECT_EQ(aclrtMemAllocManaged(nullptr, 0, 2), 100000);
    EXPECT_EQ(aclrtMemAllocManaged(&out, 0, 2), 100000);
    EXPECT_EQ(aclrtMemAllocManaged(&out, 0, 1), 107000);
    EXPECT_EQ(aclrtMemAllocManaged(&out, 1, 1), 107002);
    int32_t value = 0;
    EXPECT_EQ(aclrtMemManagedAdvise(nullptr, 2_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, kHost), 100000);
    EXPECT_EQ(aclrtMemManagedAdvise(&value, 0, ACL_MEM_ADVISE_SET_READ_MOSTLY, kHost), 100000);
    EXPECT_EQ(aclrtMemManagedAdvise(&value, 2_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, kHost), 107002);
    EXPECT_EQ(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, &value, 4, nullptr, 4), 100000);
    EXPECT_EQ(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, &value, 4, &value, 4), 507899);
    EXPECT_EQ(aclrtMemManagedGetAttrs(nullptr, 1, &value, 4, nullptr, nullptr), 100000);
    EXPECT_EQ(aclrtMemManagedPrefetchAsync(&value, 4, kHost, 1, nullptr), 100000);
    EXPECT_EQ(aclrtMemManagedPrefetchAsync(&value, 4, device_place(99), 0, nullptr), 507000);
  });
}

TEST(Managed, IsOfA2AndItsAdviceOfA3Too) {
  for (const auto& [product, allocates, advises] :
       {std::tuple("a3", 207000, 507899), std::tuple("950", 207000, 207000),
        std::tuple("inference", 207000, 207000)})
    run({{"PLAT_PRODUCT", product}}, [&, allocates = allocates, advises = advises] {
      EXPECT_OK(aclrtSetDevice(0));
      void* out = nullptr;
      EXPECT_EQ(aclrtMemAllocManaged(&out, 1, 1), allocates);
      EXPECT_EQ(aclrtMemManagedPrefetchAsync(&out, 8, kHost, 0, nullptr), 207000);
      EXPECT_EQ(
          aclrtMemManagedAdvise(reinterpret_cast<void*>(2_MiB), 2_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, kHost),
          advises);
    });
}

// The host writes and reads it; copies and fills of every kind take it on either side.
TEST(Managed, HostAndDeviceShareIt) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    char* memory = managed(4_MiB);
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    void* device = malloc_device(4_MiB);
    std::vector<char> local(4_MiB);
    std::memset(memory, 3, 4_MiB);
    for (const auto kind : {ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEFAULT}) {
      EXPECT_OK(aclrtMemset(device, 4_MiB, 0, 4_MiB));
      EXPECT_OK(aclrtMemcpyAsync(device, 4_MiB, memory, 4_MiB, kind, stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
      EXPECT_OK(aclrtMemcpy(local.data(), 4_MiB, device, 4_MiB, ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_EQ(local[4_MiB - 1], 3);
    }
    EXPECT_OK(aclrtMemset(device, 4_MiB, 8, 4_MiB));
    for (const auto kind : {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEFAULT}) {
      std::memset(memory, 1, 4_MiB);
      EXPECT_OK(aclrtMemcpyAsync(memory, 4_MiB, device, 4_MiB, kind, stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
      EXPECT_EQ(memory[4_MiB - 1], 8);
    }
    // With ordinary host memory and with itself, whichever side it plays.
    EXPECT_OK(aclrtMemcpyAsync(memory, 64, local.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(local.data(), 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemcpyAsync(memory, 64, memory + 2_MiB, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemsetAsync(memory, 128, 6, 128, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(memory[127], 6);
    EXPECT_NE(aclrtMemcpy(memory + 4_MiB - 8, 64, local.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    EXPECT_OK(aclrtFree(memory));
    EXPECT_EQ(aclrtFree(memory), 107000);
    aclrtPtrAttributes attributes{};
    EXPECT_EQ(aclrtPointerGetAttributes(memory, &attributes), 507899);
  });
}

// Freed and allocated again it is clear, and a finalized process keeps none.
TEST(Managed, GoesAndComesBack) {
  run({}, [] {
    EXPECT_OK(aclInit(nullptr));
    EXPECT_OK(aclrtSetDevice(0));
    for (int round = 0; round < 100; ++round) {
      char* memory = managed(6_MiB);
      EXPECT_EQ(memory[5_MiB], 0);
      memory[5_MiB] = 1;
      EXPECT_OK(aclrtFree(memory));
    }
    char* forgotten = managed(6_MiB);
    EXPECT_OK(aclFinalize());
    EXPECT_OK(aclInit(nullptr));
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_EQ(aclrtFree(forgotten), 107000);
  });
}

// A forked child has nothing of it, and the parent keeps all.
TEST(Managed, IsNotOfAForkedChild) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    char* memory = managed(2_MiB);
    memory[0] = 5;
    test::in_child([&] {
      void* out = nullptr;
      EXPECT_NE(aclrtMemAllocManaged(&out, 1, 1), ACL_SUCCESS);
      EXPECT_NE(aclrtFree(memory), ACL_SUCCESS);
    });
    EXPECT_EQ(memory[0], 5);
    EXPECT_OK(aclrtFree(memory));
  });
}

TEST(Managed, ThreadsAllocateAdviseAndFree) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([thread] {
        EXPECT_OK(aclrtSetDevice(0));
        for (int round = 0; round < 50; ++round) {
          char* memory = managed(2_MiB);
          memory[round] = static_cast<char>(thread);
          EXPECT_OK(aclrtMemManagedAdvise(memory, 2_MiB, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                          device_place(thread % 2)));
          EXPECT_EQ(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, 2_MiB), thread % 2);
          EXPECT_EQ(memory[round], thread);
          EXPECT_OK(aclrtFree(memory));
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace plat::rule_test
