// The rules of host memory.
#include <cstdlib>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

using Device = Memory;  // both devices open, device 0 current

void* page() { return std::aligned_alloc(4096, 8192); }

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

RULE_BROKEN(HostRegisterType) {
  Device d;
  void* view = nullptr;
  EXPECT_BREAKS(aclrtHostRegister(page(), 4096, static_cast<aclrtHostRegisterType>(2), &view));
}
RULE_KEPT(HostRegisterType) {
  Device d;
  void* view = nullptr;
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
}
RULE_KEPT(HostRegisterAligned) {
  Device d;
  void* view = nullptr;
  EXPECT_OK(aclrtHostRegister(page(), 100, ACL_HOST_REGISTER_MAPPED, &view));
}

RULE_BROKEN(HostRegisterOverlap) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  EXPECT_BREAKS(aclrtHostRegisterV2(offset(host, 4096), 4096, ACL_HOST_REG_MAPPED));
}
RULE_KEPT(HostRegisterOverlap) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 4096, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostRegisterV2(offset(host, 4096), 4096, ACL_HOST_REG_MAPPED));
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
  EXPECT_OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  EXPECT_BREAKS(aclrtHostUnregister(offset(host, 4096)));
}
RULE_KEPT(HostUnregisterUnknown) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostUnregister(host));
}

}  // namespace
}  // namespace plat::rule_test
