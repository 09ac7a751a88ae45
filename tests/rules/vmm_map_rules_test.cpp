// SPDX-License-Identifier: Apache-2.0
// Mapping and unmapping: every rule broken and kept.
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

RULE_BROKEN(MapOffset) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 2_MiB, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 1, m.handle, 0));
}
RULE_KEPT(MapOffset) {
  Memory m;
  EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, m.handle, 0));
  EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, physical(2_MiB), 0));  // a piece of its own
}

RULE_BROKEN(MapOutside) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(at(1_TiB), 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(at(UINT64_MAX - 2_MiB + 1), 2_MiB, 0, m.handle, 0));
}
RULE_KEPT(MapOutside) {
  Memory m;
  EXPECT_OK(aclrtMapMem(offset(m.va, 14_MiB), 2_MiB, 0, m.handle, 0));
}

RULE_BROKEN(MapKind) {
  Memory m;
  void* block = nullptr;
  EXPECT_OK(aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_ONLY));
  EXPECT_BREAKS(aclrtMapMem(block, 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(offset(block, 2_MiB), 2_MiB, 0, m.handle, 0));
  EXPECT_OK(aclrtFree(block));
}
RULE_KEPT(MapKind) {
  Memory m;
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&va, 4_MiB, 0, nullptr, 0));
  EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, m.handle, 0));
  EXPECT_OK(aclrtMapMem(offset(va, 2_MiB), 2_MiB, 0, physical(2_MiB), 0));
}

RULE_BROKEN(MapPastEnd) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(offset(m.va, 14_MiB), 4_MiB, 0, physical(4_MiB), 0));
  EXPECT_BREAKS(aclrtMapMem(m.va, SIZE_MAX - 2_MiB + 1, 0, m.handle, 0));
}
RULE_KEPT(MapPastEnd) {
  Memory m;
  EXPECT_OK(aclrtMapMem(offset(m.va, 12_MiB), 4_MiB, 0, physical(4_MiB), 0));
}

RULE_BROKEN(MapAligned) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(offset(m.va, 4096), 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(m.va, 1_MiB, 0, m.handle, 0));
}
RULE_KEPT(MapAligned) {
  Memory m;
  EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, m.handle, 0));
}

RULE_BROKEN(MapOverlap) {
  Memory m;
  EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(m.va, 8_MiB, 0, physical(8_MiB), 0));
}
RULE_KEPT(MapOverlap) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, m.handle, 0));  // the same handle twice: an alias
  EXPECT_OK(aclrtUnmapMem(m.va));
  m.map();
}

RULE_BROKEN(MapTooLarge) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(m.va, 4_MiB, 0, m.handle, 0));
}
RULE_KEPT(MapTooLarge) {
  Memory m;
  EXPECT_OK(aclrtMapMem(m.va, 16_MiB, 0, physical(16_MiB), 0));
}

RULE_BROKEN(MapPart, {"PLAT_RULES", "VMM-Map-whole-handle=error"}) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 0, physical(4_MiB), 0));
}
RULE_KEPT(MapPart) {
  Memory m;
  EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, physical(4_MiB), 0));  // only a warning, as drivers let it pass
  EXPECT_OK(aclrtUnmapMem(m.va));
}

RULE_BROKEN(MapTwoDevices) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtUnmapMem(m.va));  // the binding outlives the mapping
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 0, physical(2_MiB, device_prop(1)), 0));
}
RULE_KEPT(MapTwoDevices) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtMapMem(reserve(2_MiB), 2_MiB, 0, physical(2_MiB, device_prop(1)), 0));
}

RULE_BROKEN(MapPageType, {"PLAT_CAPACITY", "2GiB"}) {
  EXPECT_OK(aclrtSetDevice(0));
  void* va = reserve(2_GiB);
  EXPECT_OK(aclrtMapMem(va, 1_GiB, 0, physical(1_GiB, device_prop(0, ACL_HBM_MEM_HUGE1G)), 0));
  EXPECT_BREAKS(aclrtMapMem(offset(va, 1_GiB), 2_MiB, 0, physical(2_MiB), 0));
}
RULE_KEPT(MapPageType, {"PLAT_CAPACITY", "2GiB"}) {
  EXPECT_OK(aclrtSetDevice(0));
  void* va = reserve(2_GiB);
  EXPECT_OK(aclrtMapMem(va, 1_GiB, 0, physical(1_GiB, device_prop(0, ACL_HBM_MEM_HUGE1G)), 0));
  EXPECT_OK(aclrtMapMem(offset(va, 1_GiB), 1_GiB, 0, physical(1_GiB, device_prop(0, ACL_MEM_HUGE1G)), 0));
}

RULE_BROKEN(MapPageFlag, {"PLAT_RULES", "VMM-Map-page-flag=error"}) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 0, m.handle, 0));
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 1));
  EXPECT_BREAKS(aclrtMapMem(va, 2_MiB, 0, physical(2_MiB, device_prop(0, ACL_HBM_MEM_NORMAL)), 0));
}
RULE_KEPT(MapPageFlag, {"PLAT_RULES", "VMM-Map-page-flag=error"}) {
  Memory m;
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 1));
  EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, m.handle, 0));
  EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, physical(2_MiB, device_prop(0, ACL_MEM_NORMAL)), 0));
}

RULE_BROKEN(UnmapUnknown) {
  Memory m;
  EXPECT_BREAKS(aclrtUnmapMem(m.va));
  EXPECT_OK(aclrtMapMem(m.va, 4_MiB, 0, physical(4_MiB), 0));
  EXPECT_BREAKS(aclrtUnmapMem(offset(m.va, 2_MiB)));
  EXPECT_OK(aclrtUnmapMem(m.va));
  EXPECT_BREAKS(aclrtUnmapMem(m.va));
}
RULE_KEPT(UnmapUnknown) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtUnmapMem(m.va));
}

RULE_BROKEN(UnmapUnknownAddress, {"PLAT_PRODUCT", "950"}) {
  Memory m;
  EXPECT_BREAKS(aclrtUnmapMem(at(1_TiB)));
  EXPECT_BREAKS(aclrtUnmapMem(offset(m.va, 64)));
}
RULE_KEPT(UnmapUnknownAddress, {"PLAT_PRODUCT", "950"}) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtUnmapMem(m.va));
}

}  // namespace
}  // namespace plat::rule_test
