// SPDX-License-Identifier: Apache-2.0
// Access to mapped memory: every rule broken and kept.
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// What aclrtMemSetAccess is to allow, reading and writing unless flags say otherwise.
aclrtMemAccessDesc grant(aclrtMemLocationType type, uint32_t id,
                         int flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE) {
  aclrtMemAccessDesc desc{};
  desc.flags = static_cast<aclrtMemAccessFlags>(flags);
  desc.location.type = type;
  desc.location.id = id;
  return desc;
}

// What aclrtMemGetAccess tells of a place.
uint64_t access_of(void* va, aclrtMemLocationType type, uint32_t id) {
  aclrtMemLocation location{};
  location.type = type;
  location.id = id;
  uint64_t flags = 99;
  EXPECT_OK(aclrtMemGetAccess(va, &location, &flags));
  return flags;
}

RULE_BROKEN(AccessArguments) {
  Memory m;
  m.map();
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 1);
  EXPECT_BREAKS(aclrtMemSetAccess(nullptr, 2_MiB, &desc, 1));
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 0, &desc, 1));
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, nullptr, 1));
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 0));
  desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 1, 2);
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
}
RULE_KEPT(AccessArguments) {
  Memory m;
  m.map();
  EXPECT_EQ(access_of(m.va, ACL_MEM_LOCATION_TYPE_DEVICE, 0), 3u);
  EXPECT_EQ(access_of(m.va, ACL_MEM_LOCATION_TYPE_DEVICE, 1), 0u);
  aclrtMemAccessDesc descs[2] = {grant(ACL_MEM_LOCATION_TYPE_DEVICE, 0),
                                 grant(ACL_MEM_LOCATION_TYPE_DEVICE, 1)};
  EXPECT_OK(aclrtMemSetAccess(m.va, 2_MiB, descs, 2));
  EXPECT_EQ(access_of(m.va, ACL_MEM_LOCATION_TYPE_DEVICE, 1), 3u);
}

RULE_BROKEN(AccessFlags) {
  Memory m;
  m.map();
  for (int flags : {0, 1}) {
    aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 1, flags);
    EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  }
}
RULE_KEPT(AccessFlags) {
  Memory m;
  m.map();
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_HOST, 0);
  EXPECT_OK(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  static_cast<volatile char*>(m.va)[0] = 1;  // granted to the host: it may
  EXPECT_OK(aclrtUnmapMem(m.va));
}

RULE_BROKEN(AccessRange) {
  Memory m;
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 1);
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  EXPECT_OK(aclrtMapMem(m.va, 4_MiB, 0, physical(4_MiB), 0));
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  EXPECT_BREAKS(aclrtMemSetAccess(offset(m.va, 2_MiB), 2_MiB, &desc, 1));
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 6_MiB, &desc, 1));
}
RULE_KEPT(AccessRange) {
  Memory m;
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 1);
  EXPECT_OK(aclrtMapMem(m.va, 4_MiB, 0, physical(4_MiB), 0));
  EXPECT_OK(aclrtMemSetAccess(m.va, 4_MiB, &desc, 1));
  EXPECT_OK(aclrtMemSetAccess(m.va, 4_MiB, &desc, 1));  // again: nothing changes
}

RULE_BROKEN(AccessLocation) {
  Memory m;
  m.map();
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_HOST, 1);
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 64);
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  desc = grant(ACL_MEM_LOCATION_TYPE_MANAGED, 0);
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  aclrtMemLocation location{};
  location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  uint64_t flags = 0;
  EXPECT_BREAKS(aclrtMemGetAccess(m.va, &location, &flags));
}
RULE_KEPT(AccessLocation) {
  Memory m;
  EXPECT_OK(aclrtMemMapNoAccess(m.va, 2_MiB, 0, m.handle, 0));
  EXPECT_EQ(access_of(m.va, ACL_MEM_LOCATION_TYPE_DEVICE, 0), 0u);  // not even the owner
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 0);
  EXPECT_OK(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  EXPECT_EQ(access_of(m.va, ACL_MEM_LOCATION_TYPE_DEVICE, 0), 3u);
}

RULE_BROKEN(AccessDevice, {"PLAT_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", "2,3"}) {
  Memory m;  // allocates by logical id: device 0 is the machine's number 2
  m.map();
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 1);
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
}
RULE_KEPT(AccessDevice, {"PLAT_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", "2,3"}) {
  Memory m;
  m.map();
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 3);
  EXPECT_OK(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
  EXPECT_EQ(access_of(m.va, ACL_MEM_LOCATION_TYPE_DEVICE, 2), 3u);
}

RULE_BROKEN(AccessHostToHost) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop(0, ACL_MEM_HUGE);
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, physical(2_MiB, prop), 0));
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_HOST, 0);
  EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
}
RULE_KEPT(AccessHostToHost) {
  Memory m;
  aclrtPhysicalMemProp prop = device_prop(0, ACL_MEM_HUGE);
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, physical(2_MiB, prop), 0));
  aclrtMemAccessDesc desc = grant(ACL_MEM_LOCATION_TYPE_DEVICE, 0);
  EXPECT_OK(aclrtMemSetAccess(m.va, 2_MiB, &desc, 1));
}

RULE_BROKEN(AccessUnmapped) {
  Memory m;
  aclrtMemLocation location{};
  location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  uint64_t flags = 0;
  EXPECT_BREAKS(aclrtMemGetAccess(m.va, &location, &flags));
  EXPECT_BREAKS(aclrtMemGetAccess(&m, &location, &flags));
}
RULE_KEPT(AccessUnmapped) {
  Memory m;
  m.map();
  EXPECT_EQ(access_of(offset(m.va, 100), ACL_MEM_LOCATION_TYPE_DEVICE, 0), 3u);
}

}  // namespace
}  // namespace plat::rule_test
