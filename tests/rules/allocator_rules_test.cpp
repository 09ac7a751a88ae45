// SPDX-License-Identifier: Apache-2.0
// The rules of allocators of the program, and of segments that it cuts itself.
#include "acl/ops/acl_dvpp.h"
#include "rules/pool_fixture.h"

namespace plat::rule_test {
namespace {

// Both devices are open, device 0 is the current one.
using Device = Memory;

void* pretend_alloc(aclrtAllocator, size_t) { return nullptr; }
void pretend_free(aclrtAllocator, aclrtAllocatorBlock) {}
void* pretend_address(aclrtAllocatorBlock block) { return block; }

// A description of an allocator; not complete, it lacks the function that gives addresses.
aclrtAllocatorDesc description(bool complete) {
  static int object = 0;
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  EXPECT_OK(aclrtAllocatorSetObjToDesc(desc, &object));
  EXPECT_OK(aclrtAllocatorSetAllocFuncToDesc(desc, pretend_alloc));
  EXPECT_OK(aclrtAllocatorSetFreeFuncToDesc(desc, pretend_free));
  if (complete) EXPECT_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, pretend_address));
  return desc;
}

RULE_BROKEN(AllocatorDescription) {
  PoolFixture p;
  EXPECT_BREAKS(aclrtAllocatorRegister(p.stream, description(false)));
  int local = 0;
  EXPECT_BREAKS(aclrtAllocatorDestroyDesc(&local));
}
RULE_KEPT(AllocatorDescription) {
  PoolFixture p;
  aclrtAllocatorDesc desc = description(true);
  EXPECT_OK(aclrtAllocatorRegister(p.stream, desc));
  EXPECT_OK(aclrtAllocatorDestroyDesc(desc));
}

// Asks aclrtAllocatorGetByStream for the function that gives addresses.
aclError look_up(aclrtStream stream, aclrtAllocatorGetAddrFromBlockFunc* address) {
  aclrtAllocatorDesc desc = nullptr;
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc release = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  return aclrtAllocatorGetByStream(stream, &desc, &object, &allocate, &release, &advise, address);
}

RULE_BROKEN(AllocatorMissing) {
  PoolFixture p;
  EXPECT_OK(aclrtAllocatorUnregister(p.stream));
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  EXPECT_BREAKS(look_up(p.stream, &address));
}
RULE_KEPT(AllocatorMissing) {
  PoolFixture p;
  aclrtAllocatorDesc desc = description(true);
  EXPECT_OK(aclrtAllocatorRegister(p.stream, desc));
  EXPECT_OK(aclrtAllocatorDestroyDesc(desc));
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  EXPECT_OK(look_up(p.stream, &address));
  EXPECT_EQ(address, &pretend_address);
}

// Copies from the host, with aclrtMemcpy.
aclError copy_to(void* device, size_t size) {
  std::vector<char> host(size);
  return aclrtMemcpy(device, size, host.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
}

RULE_BROKEN(SegmentStart, {"PLAT_RULES", "MEM-Segment-start=error"}) {
  Device d;
  EXPECT_BREAKS(copy_to(offset(malloc_device(4096), 32), 64));
  void* media = nullptr;
  EXPECT_OK(acldvppMalloc(&media, 4096));
  EXPECT_BREAKS(copy_to(offset(media, 64), 64));
}
RULE_KEPT(SegmentStart, {"PLAT_RULES", "MEM-Segment-start=error"}) {
  Device d;
  EXPECT_OK(copy_to(offset(malloc_device(4096), 64), 64));
}

RULE_BROKEN(SegmentRoom, {"PLAT_RULES", "MEM-Segment-room=error"}) {
  Device d;
  EXPECT_BREAKS(copy_to(offset(malloc_device(128), 64), 65));
}
RULE_KEPT(SegmentRoom, {"PLAT_RULES", "MEM-Segment-room=error"}) {
  Device d;
  EXPECT_OK(copy_to(offset(malloc_device(128), 64), 64));
}

}  // namespace
}  // namespace plat::rule_test
