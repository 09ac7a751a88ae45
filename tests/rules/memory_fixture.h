// SPDX-License-Identifier: Apache-2.0
// The usual beginning of a test of virtual memory: a device, a reservation, a handle.
#pragma once

#include "os/page.h"
#include "rules/rule_test.h"

namespace plat::rule_test {

// Handles for other servers.
inline constexpr auto kFabric = ACL_MEM_SHARE_HANDLE_TYPE_FABRIC;
// Whole pages of the system, whatever their size.
inline constexpr size_t kPage = os::kLargestPageBytes;
// The flag that lets every process import.
inline constexpr uint64_t kEverybody = ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION;

// Memory of a device, in huge pages; all else is 0.
inline aclrtPhysicalMemProp device_prop(uint32_t device = 0, aclrtMemAttr attribute = ACL_HBM_MEM_HUGE) {
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = attribute;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

// What aclrtReserveMemAddress gives.
inline void* reserve(size_t size, void* expected = nullptr) {
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&va, size, 0, expected, 0));
  return va;
}

// What aclrtMallocPhysical gives.
inline aclrtDrvMemHandle physical(size_t size, aclrtPhysicalMemProp prop = device_prop()) {
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
  return handle;
}

// The address so many bytes further on.
inline char* offset(void* base, size_t bytes) { return static_cast<char*>(base) + bytes; }

// What aclrtMalloc gives.
inline void* malloc_device(size_t size = 4096) {
  void* block = nullptr;
  EXPECT_OK(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return block;
}

// Devices 0 and 1 are open, 16 MiB are reserved at va, handle is 2 MiB of physical memory; map() maps it
// there.
struct Memory {
  void* va = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  Memory() {
    const aclrtPhysicalMemProp prop = device_prop();
    EXPECT_READY(aclrtSetDevice(1));
    EXPECT_READY(aclrtSetDevice(0));
    EXPECT_READY(aclrtReserveMemAddress(&va, 16_MiB, 0, nullptr, 0));
    EXPECT_READY(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0));
  }
  void map() { EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, handle, 0)); }
};

}  // namespace plat::rule_test
