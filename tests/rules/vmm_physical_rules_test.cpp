// SPDX-License-Identifier: Apache-2.0
// Physical memory: every rule broken and kept.
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

RULE_BROKEN(PhysicalSize) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop();
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB + 1, &prop, 0));
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 4096, &prop, 0));
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, SIZE_MAX, &prop, 0));
}
RULE_KEPT(PhysicalSize, {"PLAT_CAPACITY", "2GiB"}) {
  Memory m;
  physical(6_MiB);
  physical(512_MiB + 2_MiB, device_prop(0, ACL_HBM_MEM_HUGE1G));  // the older driver rounds giant pages up
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes - free_bytes, 8_MiB + 1_GiB);
}

RULE_BROKEN(PhysicalReserve) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop();
  prop.reserve = 1;
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
}
RULE_KEPT(PhysicalReserve) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop();
  prop.reserve = 0;
  EXPECT_OK(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
}

RULE_BROKEN(PhysicalAttribute) {
  Memory m;
  for (int attribute : {0, 1, 2, 3, 6, 7, 8, 9, 11, 18, 100, -1}) {
    aclrtPhysicalMemProp prop = device_prop(0, static_cast<aclrtMemAttr>(attribute));
    EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
  }
}
RULE_KEPT(PhysicalAttribute) {
  Memory m;
  for (int attribute : {4, 5, 12, 13, 15, 16})
    physical(2_MiB, device_prop(0, static_cast<aclrtMemAttr>(attribute)));
  aclrtPhysicalMemProp prop{};
  EXPECT_OK(
      aclrtMemGetAllocationPropertiesFromHandle(physical(2_MiB, device_prop(0, ACL_MEM_NORMAL)), &prop));
  EXPECT_EQ(prop.memAttr, ACL_HBM_MEM_HUGE);  // normal pages are served as huge ones
}

RULE_BROKEN(PhysicalLocation) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop();
  for (int type : {2, 3, 5, 99}) {
    prop.location.type = static_cast<aclrtMemLocationType>(type);
    EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
  }
}
RULE_KEPT(PhysicalLocation) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop(0, ACL_MEM_HUGE);
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  aclrtDrvMemHandle handle = physical(2_MiB, prop);
  EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, handle, 0));
  static_cast<volatile char*>(m.va)[5] = 7;  // host memory belongs to the host
  EXPECT_EQ(static_cast<volatile char*>(m.va)[5], 7);
  EXPECT_OK(aclrtUnmapMem(m.va));
}

RULE_BROKEN(PhysicalHostId) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop(1, ACL_MEM_HUGE);
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST_NUMA;
  prop.location.id = 4000;
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
}
RULE_KEPT(PhysicalHostId) {
  aclrtPhysicalMemProp prop = device_prop(0, ACL_MEM_HUGE);
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST_NUMA;
  EXPECT_OK(aclrtSetDevice(0));
  physical(2_MiB, prop);
}

RULE_BROKEN(PhysicalDeviceOpen) {
  aclrtPhysicalMemProp prop = device_prop(1);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_BREAKS(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0));
}
RULE_KEPT(PhysicalDeviceOpen) {
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSetDevice(0));
  physical(2_MiB, device_prop(1));  // open, though not current
}

RULE_BROKEN(OutOfMemory) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop();
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(aclrtMallocPhysical(&handle, 64_MiB, &prop, 0));
  EXPECT_BREAKS(aclrtMallocPhysical(&handle, SIZE_MAX - 2_MiB + 1, &prop, 0));
  const std::string message = aclGetRecentErrMsg();
  EXPECT_NE(message.find("62 MiB"), std::string::npos) << message;
  EXPECT_NE(message.find("largest holders: pid"), std::string::npos) << message;
}
RULE_KEPT(OutOfMemory) {
  Memory m;
  aclrtDrvMemHandle handle = physical(62_MiB);
  EXPECT_OK(aclrtFreePhysical(handle));
  physical(62_MiB);
}

RULE_BROKEN(OutOfHandles, {"PLAT_MAPPING_LIMIT", "3"}) {
  Memory m;
  for (int i = 0; i < 3; ++i)
    EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB * static_cast<size_t>(i)), 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(offset(m.va, 6_MiB), 2_MiB, 0, m.handle, 0));
  EXPECT_OK(aclrtUnmapMem(m.va));
  EXPECT_OK(aclrtMapMem(offset(m.va, 6_MiB), 2_MiB, 0, m.handle, 0));
}
RULE_KEPT(OutOfHandles) {
  Memory m;
  for (size_t i = 0; i < 8; ++i) EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB * i), 2_MiB, 0, m.handle, 0));
}

RULE_BROKEN(HandleStale) {
  Memory m;
  EXPECT_BREAKS(aclrtFreePhysical(at(0x1234)));
  EXPECT_BREAKS(aclrtFreePhysical(&m));
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 0, at(0x50), 0));
  EXPECT_OK(aclrtFreePhysical(m.handle));
  EXPECT_BREAKS(aclrtFreePhysical(m.handle));
  physical(2_MiB);  // takes the freed place in the table, and yet is another handle
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 0, m.handle, 0));
}
RULE_KEPT(HandleStale) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtFreePhysical(m.handle));  // deferred: the mapping lives on
  EXPECT_OK(aclrtUnmapMem(m.va));
}

RULE_BROKEN(FreeTooOften) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtFreePhysical(m.handle));
  EXPECT_BREAKS(aclrtFreePhysical(m.handle));
}
RULE_KEPT(FreeTooOften) {
  Memory m;
  m.map();
  aclrtDrvMemHandle again = nullptr;
  EXPECT_OK(aclrtMemRetainAllocationHandle(m.va, &again));
  EXPECT_EQ(again, m.handle);
  EXPECT_OK(aclrtFreePhysical(m.handle));
  EXPECT_OK(aclrtFreePhysical(again));
  EXPECT_OK(aclrtUnmapMem(m.va));
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(free_bytes, total_bytes);
}

}  // namespace
}  // namespace plat::rule_test
