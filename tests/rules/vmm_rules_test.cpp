// SPDX-License-Identifier: Apache-2.0
// Arguments and queries of virtual memory: every rule broken and kept.
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// -- Arguments

RULE_BROKEN(ArgNull) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop();
  EXPECT_BREAKS(aclrtReserveMemAddress(nullptr, 2_MiB, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtReleaseMemAddress(nullptr));
  EXPECT_BREAKS(aclrtMallocPhysical(nullptr, 2_MiB, &prop, 0));
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, nullptr, 0));
  EXPECT_BREAKS(aclrtFreePhysical(nullptr));
  EXPECT_BREAKS(aclrtMapMem(nullptr, 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtMemMapNoAccess(m.va, 2_MiB, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtUnmapMem(nullptr));
  EXPECT_BREAKS(aclrtMemGetAccess(m.va, nullptr, nullptr));
  EXPECT_BREAKS(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, nullptr));
  EXPECT_BREAKS(aclrtMemRetainAllocationHandle(m.va, nullptr));
  EXPECT_BREAKS(aclrtMemGetAllocationPropertiesFromHandle(m.handle, nullptr));
  EXPECT_BREAKS(aclrtMemExportToShareableHandle(m.handle, ACL_MEM_HANDLE_TYPE_NONE, 0, nullptr));
  EXPECT_BREAKS(aclrtMemImportFromShareableHandle(1, 0, nullptr));
  EXPECT_BREAKS(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, nullptr));
}
RULE_KEPT(ArgNull) {
  Memory m;
  EXPECT_NE(m.va, nullptr);
  EXPECT_NE(m.handle, nullptr);
  m.map();
}

RULE_BROKEN(ArgZeroSize) {
  Memory m;
  void* va = nullptr;
  aclrtPhysicalMemProp prop = device_prop();
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 0, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 0, &prop, 0));
  EXPECT_BREAKS(aclrtMapMem(m.va, 0, 0, m.handle, 0));
}
RULE_KEPT(ArgZeroSize) {
  EXPECT_NE(reserve(1), nullptr);  // one byte is rounded up to a page
}

RULE_BROKEN(ArgReserved) {
  Memory m;
  void* va = nullptr;
  aclrtPhysicalMemProp prop = device_prop();
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 2));
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 1));
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 0, m.handle, 1));
}
RULE_KEPT(ArgReserved) {
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 1));
}

RULE_BROKEN(ArgEnum) {
  Memory m;
  uint64_t number = 0;
  aclrtPhysicalMemProp prop = device_prop();
  prop.handleType = static_cast<aclrtMemHandleType>(1);
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
  prop = device_prop();
  prop.allocationType = static_cast<aclrtMemAllocationType>(7);
  EXPECT_BREAKS(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
  EXPECT_BREAKS(aclrtMemExportToShareableHandle(m.handle, static_cast<aclrtMemHandleType>(3), 0, &number));
}
RULE_KEPT(ArgEnum) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop();
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  EXPECT_OK(aclrtMallocPhysical(&m.handle, 2_MiB, &prop, 0));
  uint64_t number = 0;
  EXPECT_OK(aclrtMemExportToShareableHandle(m.handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
}

// -- Queries and the rest

RULE_BROKEN(GranularityOption) {
  aclrtPhysicalMemProp prop = device_prop();
  size_t granularity = 0;
  EXPECT_BREAKS(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &granularity));
}
RULE_KEPT(GranularityOption) {
  aclrtPhysicalMemProp prop = device_prop();
  size_t granularity = 0;
  EXPECT_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &granularity));
  EXPECT_EQ(granularity, 2_MiB);
  prop.memAttr = ACL_HBM_MEM_HUGE1G;
  EXPECT_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
  EXPECT_EQ(granularity, 1_GiB);
}

RULE_BROKEN(RetainUnmapped, {"PLAT_PRODUCT", "950"}) {
  Memory m;
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(aclrtMemRetainAllocationHandle(m.va, &handle));
  m.map();
  EXPECT_OK(aclrtUnmapMem(m.va));
  EXPECT_BREAKS(aclrtMemRetainAllocationHandle(m.va, &handle));
}
RULE_KEPT(RetainUnmapped) {
  Memory m;
  m.map();
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_OK(aclrtMemRetainAllocationHandle(m.va, &handle));
}

RULE_BROKEN(RetainStart) {
  Memory m;
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(aclrtMemRetainAllocationHandle(at(1_TiB), &handle));
  EXPECT_OK(aclrtMapMem(m.va, 4_MiB, 0, physical(4_MiB), 0));
  EXPECT_BREAKS(aclrtMemRetainAllocationHandle(offset(m.va, 2_MiB), &handle));
}
RULE_KEPT(RetainStart, {"PLAT_PRODUCT", "950"}) {
  Memory m;
  m.map();
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_OK(aclrtMemRetainAllocationHandle(offset(m.va, 4096), &handle));  // the newer driver looks around
  EXPECT_EQ(handle, m.handle);
}

RULE_BROKEN(LinkUnsupported) {
  Memory m;
  EXPECT_BREAKS(aclrtMemMapSetLink(m.handle, ACL_RT_MEM_ACCESS_LINK_HCCS));
}
RULE_KEPT(LinkUnsupported, {"PLAT_PRODUCT", "a3"}) {
  Memory m;
  EXPECT_OK(aclrtMemMapSetLink(m.handle, ACL_RT_MEM_ACCESS_LINK_HCCS));
  m.map();
  EXPECT_OK(aclrtMemMapSelectedLink(offset(m.va, 4_MiB), 2_MiB, m.va, 1));
  EXPECT_OK(aclrtUnmapMem(offset(m.va, 4_MiB)));
}

RULE_BROKEN(HostMappings, {"PLAT_HOST_ACCESS", "allow"}, {"PLAT_HOST_MAPPING_LIMIT", "2"}) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtMapMem(offset(m.va, 4_MiB), 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(offset(m.va, 8_MiB), 2_MiB, 0, m.handle, 0));
  EXPECT_OK(aclrtUnmapMem(m.va));
  EXPECT_OK(aclrtMapMem(offset(m.va, 8_MiB), 2_MiB, 0, m.handle, 0));
}
RULE_KEPT(HostMappings, {"PLAT_HOST_ACCESS", "allow"}) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtMapMem(offset(m.va, 4_MiB), 2_MiB, 0, m.handle, 0));
  static_cast<volatile int*>(m.va)[3] = 42;
  EXPECT_EQ(reinterpret_cast<volatile int*>(offset(m.va, 4_MiB))[3], 42);  // an alias
  EXPECT_OK(aclrtUnmapMem(m.va));
  EXPECT_OK(aclrtUnmapMem(offset(m.va, 4_MiB)));
  EXPECT_OK(aclrtFreePhysical(m.handle));
  m.handle = physical(2_MiB);
  m.map();
  EXPECT_EQ(static_cast<volatile int*>(m.va)[3], 0);  // new memory is clean
}

}  // namespace
}  // namespace plat::rule_test
