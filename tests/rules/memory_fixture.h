// SPDX-License-Identifier: Apache-2.0
// The usual beginning of a test of virtual memory: a device, a reservation, a handle.
#pragma once

#include "rules/rule_test.h"

namespace plat::rule_test {

inline aclrtPhysicalMemProp device_prop(uint32_t device = 0, aclrtMemAttr attribute = ACL_HBM_MEM_HUGE) {
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = attribute;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

inline void* reserve(size_t size, void* expected = nullptr) {
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&va, size, 0, expected, 0));
  return va;
}

inline aclrtDrvMemHandle physical(size_t size, aclrtPhysicalMemProp prop = device_prop()) {
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
  return handle;
}

inline char* offset(void* base, size_t bytes) { return static_cast<char*>(base) + bytes; }

inline void* malloc_device(size_t size = 4096) {
  void* block = nullptr;
  EXPECT_OK(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return block;
}

// Device 0 and 1 open, 16 MiB reserved, a handle of 2 MiB.
struct Memory {
  void* va = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  Memory() {
    EXPECT_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtSetDevice(0));
    va = reserve(16_MiB);
    handle = physical(2_MiB);
  }
  void map() { EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, handle, 0)); }
};

}  // namespace plat::rule_test
