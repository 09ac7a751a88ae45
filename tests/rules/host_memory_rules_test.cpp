// SPDX-License-Identifier: Apache-2.0
// The rules of host memory.
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// Both devices are open, device 0 is the current one.
using Device = Memory;

// Two pages of host memory.
void* page() { return std::aligned_alloc(kPage, 2 * kPage); }

RULE_BROKEN(HostFreeUnknown) {
  Device d;
  int local = 0;
  EXPECT_BREAKS(aclrtFreeHost(&local));
  EXPECT_BREAKS(aclrtFreeHost(malloc_device()));
}
RULE_KEPT(HostFreeUnknown) {
  Device d;
  void* host = nullptr;
  EXPECT_OK(aclrtMallocHost(&host, 1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % 64, 0u);
  EXPECT_OK(aclrtFreeHost(host));
}

// A copy is held still by a page that faults: the handler of the fault waits until the test has seen what it
// wants to see. HeldCopy does so with memory of its own, here it is the memory that is given back.
sem_t copy_has_begun;
sem_t copy_may_go_on;
void* closed_page = nullptr;
void hold_copy(int) {
  sem_post(&copy_has_begun);
  while (sem_wait(&copy_may_go_on) != 0) {
  }
  mprotect(closed_page, kPage, PROT_READ | PROT_WRITE);
}

// Work with two pages of host memory that has begun and waits at the second one; let_go() lets it end.
struct HeldWork {
  std::thread thread;
  HeldWork(void* pages, const std::function<void()>& work) {
    sem_init(&copy_has_begun, 0, 0);
    sem_init(&copy_may_go_on, 0, 0);
    signal(SIGSEGV, hold_copy);  // after the device is open: in front of the library's own
    closed_page = offset(pages, kPage);
    mprotect(closed_page, kPage, PROT_NONE);
    thread = std::thread([=] {
      EXPECT_READY(aclrtSetDevice(0));
      work();
    });
    while (sem_wait(&copy_has_begun) != 0) {
    }
  }
  void let_go() {
    sem_post(&copy_may_go_on);
    thread.join();
  }
};

RULE_BROKEN(HostFreeBusy) {
  Device d;
  void *pinned = nullptr, *device = malloc_device(2 * kPage);
  EXPECT_OK(aclrtMallocHost(&pinned, 2 * kPage));
  const auto copy = [=] {
    EXPECT_OK(aclrtMemcpy(device, 2 * kPage, pinned, 2 * kPage, ACL_MEMCPY_HOST_TO_DEVICE));
  };
  copy();
  HeldWork copying(pinned, copy);
  EXPECT_BREAKS(aclrtFreeHost(pinned));
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_BREAKS(aclrtFreeHost(pinned));
  copying.let_go();

  copy();
  HeldWork filling(pinned, [=] { EXPECT_OK(aclrtMemset(pinned, 2 * kPage, 3, 2 * kPage)); });
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_BREAKS(aclrtFreeHost(pinned));
  filling.let_go();
  EXPECT_OK(aclrtFreeHost(pinned));
}
RULE_KEPT(HostFreeBusy) {
  Device d;
  void* pinned = nullptr;
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
  EXPECT_OK(aclrtMallocHost(&pinned, 4096));
  EXPECT_OK(aclrtMemcpyAsync(malloc_device(), 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  EXPECT_OK(aclrtFreeHostWithDevSync(pinned));
  EXPECT_OK(aclrtMallocHost(&pinned, 4096));
  EXPECT_OK(aclrtMemcpyAsync(malloc_device(), 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtFreeHost(pinned));
}

// What was freed, and what lies behind the end, is refused like memory of the device.
TEST(PageLocked, IsCheckedLikeDeviceMemory) {
  for (const auto& [rule, size] :
       {std::pair(RuleId::CopyPastEnd, size_t{129}), {RuleId::CopyFreed, size_t{64}}}) {
    rule_under_test() = rule;
    run({}, [rule = rule, size = size] {
      Device d;
      void* pinned = nullptr;
      void* device = malloc_device();
      aclrtStream stream = nullptr;
      EXPECT_OK(aclrtCreateStream(&stream));
      EXPECT_OK(aclrtMallocHost(&pinned, 100));
      for (int round = 0; round < 3; ++round)
        EXPECT_OK(aclrtMemcpy(device, 128, pinned, 128, ACL_MEMCPY_HOST_TO_DEVICE));
      if (rule == RuleId::CopyFreed) EXPECT_OK(aclrtFreeHost(pinned));
      EXPECT_BREAKS(aclrtMemcpy(device, 4096, pinned, size, ACL_MEMCPY_HOST_TO_DEVICE));
      EXPECT_BREAKS(aclrtMemcpy(pinned, 4096, device, size, ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_BREAKS(aclrtMemcpy(pinned, 4096, device, size, ACL_MEMCPY_DEFAULT));
      EXPECT_BREAKS(aclrtMemset(pinned, 4096, 0, size));
      EXPECT_OK(aclrtMemsetAsync(pinned, 4096, 0, size, stream));
      EXPECT_BREAKS(aclrtSynchronizeStream(stream));
    });
  }
}

TEST(PageLocked, IsNamedWhereDeviceMemoryIsFreed) {
  rule_under_test() = RuleId::FreeUnknown;
  run({}, [] {
    Device d;
    void* pinned = nullptr;
    EXPECT_OK(aclrtMallocHost(&pinned, 100));
    EXPECT_BREAKS(aclrtFree(pinned));
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find("aclrtFreeHost"), std::string::npos);
    EXPECT_OK(aclrtFreeHost(pinned));
  });
}

TEST(PageLocked, IsKnownByWhoFreedIt) {
  rule_under_test() = RuleId::HostFreeUnknown;
  run({}, [] {
    Device d;
    void* pinned = nullptr;
    EXPECT_OK(aclrtMallocHost(&pinned, 100));
    std::thread([&] { EXPECT_OK(aclrtFreeHost(pinned)); }).join();
    EXPECT_BREAKS(aclrtFreeHost(pinned));
    const std::string message = aclGetRecentErrMsg();
    EXPECT_NE(message.find("block of 100 bytes"), std::string::npos) << message;
    EXPECT_NE(message.find("aclrtFreeHost freed in thread "), std::string::npos) << message;
    EXPECT_EQ(message.find(" 0 frees"), std::string::npos) << message;
  });
}

RULE_BROKEN(HostRegisterMissing) {
  Device d;
  void* view = nullptr;
  auto* gone = static_cast<char*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(gone + kPage, kPage);
  EXPECT_BREAKS(aclrtHostRegisterV2(gone, 2 * kPage, ACL_HOST_REG_MAPPED));
  EXPECT_BREAKS(aclrtHostRegister(gone, kPage + 1, ACL_HOST_REGISTER_MAPPED, &view));
  EXPECT_BREAKS(aclrtHostRegister(gone, SIZE_MAX, ACL_HOST_REGISTER_MAPPED, &view));
  mprotect(gone, kPage, PROT_NONE);
  EXPECT_BREAKS(aclrtHostRegisterV2(gone, kPage, ACL_HOST_REG_PINNED));
  EXPECT_BREAKS(aclrtHostRegisterV2(reinterpret_cast<void*>(kPage), kPage, ACL_HOST_REG_IOMEMORY));
}
RULE_KEPT(HostRegisterMissing) {
  Device d;
  void* view = nullptr;
  void* pinned = nullptr;
  EXPECT_OK(aclrtHostRegister(page(), 8192, ACL_HOST_REGISTER_READONLY, &view));
  EXPECT_OK(aclrtMallocHost(&pinned, 8192));
  EXPECT_OK(aclrtHostRegister(pinned, 8192, ACL_HOST_REGISTER_MAPPED, &view));
  EXPECT_EQ(view, pinned);
}

RULE_BROKEN(HostRegisterType) {
  Device d;
  void* view = nullptr;
  EXPECT_BREAKS(aclrtHostRegister(page(), 4096, static_cast<aclrtHostRegisterType>(2), &view));
  EXPECT_BREAKS(aclrtHostRegister(page(), 4096, static_cast<aclrtHostRegisterType>(14), &view));
}
RULE_KEPT(HostRegisterType) {
  Device d;
  void* view = nullptr;
  EXPECT_OK(aclrtHostRegister(page(), 4096, static_cast<aclrtHostRegisterType>(12), &view));
  EXPECT_OK(aclrtHostRegister(page(), 4096, ACL_HOST_REGISTER_MAPPED, &view));
}

RULE_BROKEN(HostRegisterFlags) {
  Device d;
  EXPECT_BREAKS(aclrtHostRegisterV2(page(), 4096, 0));
  EXPECT_BREAKS(aclrtHostRegisterV2(page(), 4096, 1));
}
RULE_KEPT(HostRegisterFlags) {
  Device d;
  EXPECT_OK(aclrtHostRegisterV2(page(), 4096, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
}

RULE_BROKEN(HostRegisterAligned) {
  Device d;
  void* view = nullptr;
  EXPECT_BREAKS(aclrtHostRegister(offset(page(), 64), 4096, ACL_HOST_REGISTER_MAPPED, &view));
  for (const uint32_t flag : {ACL_HOST_REG_MAPPED, ACL_HOST_REG_IOMEMORY, ACL_HOST_REG_READONLY})
    EXPECT_BREAKS(aclrtHostRegisterV2(offset(page(), 64), 64, flag | ACL_HOST_REG_PINNED));
}
RULE_KEPT(HostRegisterAligned) {
  Device d;
  void* view = nullptr;
  EXPECT_OK(aclrtHostRegister(page(), 100, ACL_HOST_REGISTER_MAPPED, &view));
  EXPECT_OK(aclrtHostRegisterV2(offset(page(), 64), 64, ACL_HOST_REG_PINNED));  // no page is mapped
}
TEST(HostRegister, AlignsToThePagesOfTheSystem) {
  rule_under_test() = RuleId::HostRegisterAligned;
  run({{"PLAT_PAGE_BYTES", "65536"}}, [] {
    Device d;
    void* view = nullptr;
    auto* memory = static_cast<char*>(
        mmap(nullptr, 256_KiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char* aligned = memory + (64_KiB - reinterpret_cast<uintptr_t>(memory) % 64_KiB);
    EXPECT_BREAKS(aclrtHostRegister(aligned + 4096, 4096, ACL_HOST_REGISTER_MAPPED, &view));
    EXPECT_OK(aclrtHostRegister(aligned, 4096, ACL_HOST_REGISTER_MAPPED, &view));
  });
}
TEST(HostRegister, ChecksInOrder) {
  run({}, [] {
    Device d;
    void* view = nullptr;
    void* host = page();
    std::thread([&] {
      EXPECT_EQ(aclrtHostRegister(offset(host, 1), 4096, static_cast<aclrtHostRegisterType>(2), &view),
                207000);
      EXPECT_EQ(aclrtHostRegister(offset(host, 1), 4096, ACL_HOST_REGISTER_MAPPED, &view), 107002);
      EXPECT_EQ(aclrtHostRegisterV2(offset(host, 1), 4096, ACL_HOST_REG_MAPPED), 107002);
    }).join();
    EXPECT_OK(aclrtHostRegisterV2(host, 4096, ACL_HOST_REG_MAPPED));
    EXPECT_EQ(aclrtHostRegisterV2(offset(host, 1), 64, ACL_HOST_REG_MAPPED), 507910);  // before its alignment
  });
}

RULE_BROKEN(HostCapabilityEngine) {
  aclrtHostMemMapCapability capability{};
  EXPECT_BREAKS(aclrtHostMemMapCapabilities(0, static_cast<aclrtHacType>(10), &capability));
  EXPECT_EQ(aclrtHostMemMapCapabilities(99, static_cast<aclrtHacType>(10), &capability), 107001);
}
RULE_KEPT(HostCapabilityEngine) {
  aclrtHostMemMapCapability capability{};
  EXPECT_OK(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_CCU, &capability));
}

RULE_BROKEN(HostRegisterOverlap) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 2 * kPage, ACL_HOST_REG_MAPPED));
  EXPECT_BREAKS(aclrtHostRegisterV2(offset(host, kPage), kPage, ACL_HOST_REG_MAPPED));
  // Page-locked memory is locked already.
  void* pinned = nullptr;
  EXPECT_OK(aclrtMallocHost(&pinned, 4096));
  EXPECT_BREAKS(aclrtHostRegisterV2(pinned, 4096, ACL_HOST_REG_PINNED));
}
RULE_KEPT(HostRegisterOverlap) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, kPage, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostRegisterV2(offset(host, kPage), kPage, ACL_HOST_REG_MAPPED));
}

RULE_BROKEN(HostRegisterDevice) {
  Device d;
  EXPECT_BREAKS(aclrtHostRegisterV2(malloc_device(), 4096, ACL_HOST_REG_MAPPED));
}
RULE_KEPT(HostRegisterDevice) {
  Device d;
  EXPECT_OK(aclrtHostRegisterV2(page(), 4096, ACL_HOST_REG_MAPPED));
}

RULE_BROKEN(HostPointerUnknown) {
  Device d;
  void* host = page();
  void* view = nullptr;
  EXPECT_BREAKS(aclrtHostGetDevicePointer(host, &view, 0));
  EXPECT_OK(aclrtHostRegisterV2(host, 4096, ACL_HOST_REG_PINNED));
  EXPECT_BREAKS(aclrtHostGetDevicePointer(host, &view, 0));
}
RULE_KEPT(HostPointerUnknown) {
  Device d;
  void* host = page();
  void* start = nullptr;
  void* inside = nullptr;
  EXPECT_OK(aclrtHostRegisterV2(host, 4096, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostGetDevicePointer(host, &start, 0));
  EXPECT_OK(aclrtHostGetDevicePointer(offset(host, 100), &inside, 0));
  EXPECT_EQ(offset(start, 100), inside);
}

RULE_BROKEN(HostUnregisterUnknown) {
  Device d;
  void* host = page();
  EXPECT_BREAKS(aclrtHostUnregister(host));
  EXPECT_OK(aclrtHostRegisterV2(host, 2 * kPage, ACL_HOST_REG_MAPPED));
  EXPECT_BREAKS(aclrtHostUnregister(offset(host, kPage)));
}
RULE_KEPT(HostUnregisterUnknown) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostUnregister(host));
}

}  // namespace
}  // namespace plat::rule_test
