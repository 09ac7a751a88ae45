// SPDX-License-Identifier: Apache-2.0
// The rules of the allocation families.
#include <string>
#include <thread>
#include <vector>

#include "acl/acl_rt_memory_soma.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "rules/memory_fixture.h"
#include "support/held_copy.h"

namespace plat::rule_test {
namespace {

using test::HeldCopy;

// Both devices are open, device 0 is the current one.
using Device = Memory;

// aclrtMallocWithCfg with this attribute.
aclError malloc_with(aclrtMallocAttrType type, uint32_t value) {
  aclrtMallocAttribute attribute{};
  attribute.attr = type;
  attribute.value.deviceId = value;
  aclrtMallocConfig config{&attribute, 1};
  void* block = nullptr;
  return aclrtMallocWithCfg(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config);
}

RULE_BROKEN(MallocOverflow) {
  Device d;
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMalloc(&block, SIZE_MAX - 32, ACL_MEM_MALLOC_HUGE_FIRST));
}
RULE_KEPT(MallocOverflow) {
  Device d;
  void* block = nullptr;
  EXPECT_OK(aclrtMalloc(&block, 1_MiB, ACL_MEM_MALLOC_HUGE_FIRST));
}

RULE_BROKEN(MallocLargest) {
  Device d;
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMalloc(&block, 129_GiB, ACL_MEM_MALLOC_HUGE_FIRST));
}
RULE_KEPT(MallocLargest, {"PLAT_CAPACITY", "130GiB"}) {
  Device d;
  void* block = nullptr;
  EXPECT_OK(aclrtMalloc(&block, 127_GiB, ACL_MEM_MALLOC_HUGE_FIRST));  // nothing is taken until it is written
  EXPECT_OK(aclrtFree(block));
}

RULE_BROKEN(MallocConfig) {
  Device d;
  aclrtMallocConfig config{nullptr, 0};
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMallocWithCfg(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
  EXPECT_BREAKS(malloc_with(ACL_RT_MEM_ATTR_VA_FLAG, 1));
  EXPECT_BREAKS(aclrtMallocHostWithCfg(&block, 64, &config));
}
RULE_KEPT(MallocConfig) {
  Device d;
  EXPECT_OK(malloc_with(ACL_RT_MEM_ATTR_MODULE_ID, 7));
  void* block = nullptr;
  EXPECT_OK(aclrtMallocWithCfg(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST, nullptr));
}

RULE_BROKEN(MallocConfigDevice) {
  Device d;
  EXPECT_BREAKS(malloc_with(ACL_RT_MEM_ATTR_DEVICE_ID, 1));
}
RULE_KEPT(MallocConfigDevice) {
  Device d;
  EXPECT_OK(malloc_with(ACL_RT_MEM_ATTR_DEVICE_ID, 0));
}

RULE_BROKEN(FreeUnknown) {
  Device d;
  EXPECT_BREAKS(aclrtFree(offset(malloc_device(), 64)));
  EXPECT_BREAKS(aclrtFree(offset(malloc_device(4_MiB), 2_MiB)));
  int local = 0;
  EXPECT_BREAKS(aclrtFree(&local));
}
RULE_KEPT(FreeUnknown) {
  Device d;
  EXPECT_OK(aclrtFree(malloc_device()));
  EXPECT_OK(aclrtFree(malloc_device(4_MiB)));
}

RULE_BROKEN(FreeTwice) {
  Device d;
  for (const size_t size : {size_t{64}, size_t{4_MiB}}) {
    void* block = malloc_device(size);
    EXPECT_OK(aclrtFree(block));
    EXPECT_BREAKS(aclrtFree(block));
  }
}
RULE_KEPT(FreeTwice) {
  Device d;
  void* block = malloc_device();
  EXPECT_OK(aclrtFree(block));
  void* again = malloc_device();  // the same address, and a block of its own
  EXPECT_EQ(again, block);
  EXPECT_OK(aclrtFree(again));
}

RULE_BROKEN(FreeOtherKind) {
  Memory m;
  EXPECT_BREAKS(aclrtFree(m.va));
  m.map();
  EXPECT_BREAKS(aclrtFree(m.va));
}
RULE_KEPT(FreeOtherKind) {
  Memory m;
  EXPECT_OK(aclrtFree(malloc_device()));
  EXPECT_OK(aclrtReleaseMemAddress(m.va));
}

RULE_BROKEN(FreeMixed) {
  Device d;
  void* media = nullptr;
  EXPECT_OK(acldvppMalloc(&media, 100));
  EXPECT_BREAKS(aclrtFree(media));
  EXPECT_BREAKS(hi_mpi_dvpp_free(media));
  EXPECT_BREAKS(acldvppFree(malloc_device()));
}
RULE_KEPT(FreeMixed) {
  Device d;
  void* media = nullptr;
  EXPECT_OK(acldvppMalloc(&media, 100));
  EXPECT_OK(acldvppFree(media));
  EXPECT_OK(hi_mpi_dvpp_malloc(0, &media, 100));
  EXPECT_OK(hi_mpi_dvpp_free(media));
}

RULE_BROKEN(FreeBusy) {
  Device d;
  void* block = malloc_device(4096);
  HeldCopy copy(block, 4096, HeldCopy::Kept::Counted);
  EXPECT_BREAKS(aclrtFree(block));
  EXPECT_OK(copy.let_go());
  EXPECT_OK(aclrtFree(block));

  // A thread that has copied with the block before.
  block = malloc_device(4096);
  HeldCopy again(block, 4096, HeldCopy::Kept::Noted);
  EXPECT_BREAKS(aclrtFree(block));
  EXPECT_OK(again.let_go());
  EXPECT_OK(aclrtFree(block));
}
RULE_KEPT(FreeBusy) {
  Device d;
  void* block = malloc_device(4_MiB);
  std::vector<char> host(4_MiB);
  EXPECT_OK(aclrtMemcpy(block, host.size(), host.data(), host.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_OK(aclrtFree(block));

  block = malloc_device(4_MiB);
  EXPECT_OK(aclrtMemcpy(block, host.size(), host.data(), host.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_OK(aclrtFreeWithDevSync(block));
}

RULE_BROKEN(MemTypeMask) {
  Device d;
  void* block = malloc_device();
  uint32_t result = 0;
  EXPECT_BREAKS(aclrtCheckMemType(&block, 1, ACL_RT_MEM_TYPE_RSVD, &result, 0));
}
RULE_BROKEN(MemTypeArguments) {
  Device d;
  void* block = malloc_device();
  uint32_t result = 7;
  EXPECT_BREAKS(aclrtCheckMemType(&block, 0, ACL_RT_MEM_TYPE_DEV, &result, 0));
  EXPECT_EQ(result, 0u);  // written before all else
  EXPECT_BREAKS(aclrtCheckMemType(&block, 1, ACL_RT_MEM_TYPE_DEV, &result, 1));
  EXPECT_BREAKS(aclrtCheckMemType(&block, 0, ACL_RT_MEM_TYPE_RSVD, &result, 0));
}
RULE_KEPT(MemTypeArguments) {
  Device d;
  void* block = malloc_device();
  uint32_t result = 7;
  EXPECT_OK(aclrtCheckMemType(&block, 1, 0, &result, 0));  // no kind at all: nothing is of it
  EXPECT_EQ(result, 0u);
  EXPECT_OK(aclrtCheckMemType(&block, 1, 0x20, &result, 0));
  EXPECT_EQ(result, 0u);
  EXPECT_OK(aclrtCheckMemType(&block, 1, 0x20 | ACL_RT_MEM_TYPE_DEV, &result, 0));
  EXPECT_EQ(result, 1u);
}
RULE_KEPT(MemTypeMask) {
  Device d;
  void* blocks[2] = {malloc_device(), nullptr};
  EXPECT_OK(acldvppMalloc(&blocks[1], 64));
  uint32_t result = 0;
  EXPECT_OK(aclrtCheckMemType(blocks, 2, ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP, &result, 0));
  EXPECT_EQ(result, 1u);
  EXPECT_OK(aclrtCheckMemType(blocks, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
  EXPECT_EQ(result, 0u);
}

RULE_BROKEN(UsageRoom) {
  Device d;
  aclrtMemUsageInfo info{};
  size_t filled = 0;
  EXPECT_BREAKS(aclrtGetMemUsageInfo(0, &info, 0, &filled));
}
RULE_KEPT(UsageRoom) {
  Device d;
  malloc_device();
  aclrtMemUsageInfo info{};
  size_t filled = 0;
  EXPECT_OK(aclrtGetMemUsageInfo(0, &info, 1, &filled));
  EXPECT_EQ(filled, 1u);
  EXPECT_STREQ(info.name, "APP");
  EXPECT_EQ(info.curMemSize, 8_KiB);
}

RULE_BROKEN(PointerUnmapped) {
  Memory m;
  aclrtPtrAttributes attributes{};
  EXPECT_BREAKS(aclrtPointerGetAttributes(m.va, &attributes));
  void* kept = malloc_device();
  void* small = malloc_device();
  void* large = malloc_device(6_MiB);
  EXPECT_OK(aclrtFree(small));  // its page is free, others of the region are not
  EXPECT_OK(aclrtFree(large));
  EXPECT_BREAKS(aclrtPointerGetAttributes(small, &attributes));
  EXPECT_BREAKS(aclrtPointerGetAttributes(large, &attributes));
  EXPECT_BREAKS(aclrtPointerGetAttributes(pointer_of(Va{22_TiB}), &attributes));
  EXPECT_OK(aclrtPointerGetAttributes(kept, &attributes));
}
RULE_KEPT(PointerUnmapped) {
  Memory m;
  m.map();
  aclrtPtrAttributes attributes{};
  EXPECT_OK(aclrtPointerGetAttributes(m.va, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.pageSize, 2_MiB);
  int local = 0;
  EXPECT_OK(aclrtPointerGetAttributes(&local, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  void* pinned = nullptr;
  EXPECT_OK(aclrtMallocHost(&pinned, 100));
  EXPECT_OK(aclrtPointerGetAttributes(offset(pinned, 50), &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
}

RULE_BROKEN(PointerNoDevice) {
  int local = 0;
  aclrtPtrAttributes attributes{};
  EXPECT_BREAKS(aclrtPointerGetAttributes(&local, &attributes));
}
RULE_KEPT(PointerNoDevice) {
  int local = 0;
  aclrtPtrAttributes attributes{};
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtPointerGetAttributes(&local, &attributes));
  EXPECT_OK(aclrtResetDevice(0));
  std::thread([&] {
    EXPECT_OK(aclrtPointerGetAttributes(&local, &attributes));
  }).join();  // no context needed
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(attributes.location.id, 0u);
}

RULE_BROKEN(AddressRangeArguments) {
  Device d;
  EXPECT_BREAKS(aclrtMemGetAddressRange(malloc_device(), nullptr, nullptr));
}
RULE_KEPT(AddressRangeArguments) {
  Device d;
  size_t size = 0;
  EXPECT_OK(aclrtMemGetAddressRange(malloc_device(100), nullptr, &size));
  EXPECT_EQ(size, 4096u);
}

RULE_BROKEN(AddressRangeUnknown) {
  Device d;
  int local = 0;
  void* base = nullptr;
  EXPECT_BREAKS(aclrtMemGetAddressRange(&local, &base, nullptr));
}
RULE_KEPT(AddressRangeUnknown) {
  Memory m;
  m.map();
  void* base = nullptr;
  size_t size = 0;
  EXPECT_OK(aclrtMemGetAddressRange(offset(m.va, 77), &base, &size));
  EXPECT_EQ(base, m.va);
  EXPECT_EQ(size, 2_MiB);
}

void expect_named(size_t size) {
  const std::string named = "block of " + std::to_string(size) + " bytes";
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find(named), std::string::npos) << aclGetRecentErrMsg();
}

// What a program asked for, which it knows; not what that is padded and rounded to.
TEST(Messages, SayTheSizeThatWasAskedFor) {
  run({}, [] {
    Device d;
    std::vector<char> host(8_MiB);
    aclrtStream held = nullptr;
    aclrtNotify gate = nullptr;
    EXPECT_OK(aclrtCreateStream(&held));
    EXPECT_OK(aclrtCreateNotify(&gate, 0));
    EXPECT_OK(aclrtWaitAndResetNotify(gate, held, 0));
    for (const size_t size : {size_t{100}, size_t{4_MiB} + 100}) {
      void* block = malloc_device(size);
      EXPECT_NE(aclrtMemcpy(block, 8_MiB, host.data(), 8_MiB, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
      expect_named(size);
      EXPECT_NE(aclrtFree(offset(block, 64)), ACL_SUCCESS);
      expect_named(size);
      EXPECT_OK(aclrtMemPoolFreeAsync(block, held));
      EXPECT_NE(aclrtMemPoolFreeAsync(block, held), ACL_SUCCESS);
      expect_named(size);
      void* freed = malloc_device(size);
      EXPECT_OK(aclrtFree(freed));
      EXPECT_NE(aclrtFree(freed), ACL_SUCCESS);
      expect_named(size);
    }
    void* pinned = nullptr;
    EXPECT_OK(aclrtMallocHost(&pinned, 1000));
    EXPECT_NE(aclrtFreeHost(offset(pinned, 64)), ACL_SUCCESS);
    expect_named(1000);
    EXPECT_NE(aclrtMemcpy(pinned, 8_MiB, host.data(), 8_MiB, ACL_MEMCPY_HOST_TO_HOST), ACL_SUCCESS);
    expect_named(1000);
    EXPECT_OK(aclrtRecordNotify(gate, nullptr));
    EXPECT_OK(aclrtSynchronizeStream(held));
  });
}

}  // namespace
}  // namespace plat::rule_test
