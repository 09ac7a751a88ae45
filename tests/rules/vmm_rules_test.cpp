// The seven steps: every rule broken and kept.
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

void* at(uint64_t address) { return reinterpret_cast<void*>(address); }
constexpr uint64_t kWindow = 0x100000000000;

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
RULE_KEPT(ArgEnum) { Memory m; }

// -- Reserve and release

RULE_BROKEN(ReserveAlignment) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 2_MiB, nullptr, 0));
  EXPECT_EQ(va, nullptr);
}
RULE_KEPT(ReserveAlignment) {
  EXPECT_EQ(reinterpret_cast<uint64_t>(reserve(6_MiB)) % 2_MiB, 0u);
  EXPECT_EQ(reinterpret_cast<uint64_t>(reserve(2_GiB)) % 1_GiB, 0u);
}

RULE_BROKEN(ReserveExpected) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, at(kWindow + 64_GiB + 4096), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 6_MiB, 0, at(kWindow + 64_GiB + 2_MiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 600_MiB, 0, at(kWindow + 64_GiB + 512_MiB), 0));
}
#ifndef __SANITIZE_THREAD__  // allows no fixed addresses; ReserveTaken says so
RULE_KEPT(ReserveExpected) {
  EXPECT_EQ(reserve(6_MiB, at(kWindow + 64_GiB + 8_MiB)), at(kWindow + 64_GiB + 8_MiB));
  EXPECT_EQ(reserve(600_MiB, at(kWindow + 66_GiB)), at(kWindow + 66_GiB));
}
RULE_KEPT(ReserveWindow) { EXPECT_NE(reserve(2_MiB, at(kWindow + 100_GiB)), nullptr); }
RULE_KEPT(ReserveTaken) {
  void* va = at(kWindow + 100_GiB);
  EXPECT_EQ(reserve(2_MiB, va), va);
  EXPECT_OK(aclrtReleaseMemAddress(va));
  EXPECT_EQ(reserve(2_MiB, va), va);
}
RULE_KEPT(ReserveNoUc, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, at(40_TiB), 0));
  EXPECT_OK(aclrtReleaseMemAddress(va));
}
RULE_KEPT(ReserveNoUcSize, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddressNoUCMemory(&va, 2_GiB, 0, at(41_TiB), 0));
}
#else
RULE_KEPT(ReserveExpected) { EXPECT_NE(reserve(2_MiB), nullptr); }
RULE_KEPT(ReserveWindow) { EXPECT_NE(reserve(2_MiB), nullptr); }
RULE_KEPT(ReserveTaken) { EXPECT_NE(reserve(2_MiB), nullptr); }
RULE_KEPT(ReserveNoUc) { EXPECT_NE(reserve(2_MiB), nullptr); }
RULE_KEPT(ReserveNoUcSize) { EXPECT_NE(reserve(2_MiB), nullptr); }
#endif

RULE_BROKEN(ReserveWindow) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, at(2_MiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, at(24_TiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 4_MiB, 0, at(UINT64_MAX - 4_MiB + 1), 0));
}
RULE_BROKEN(ReserveTaken) {
  void* taken = reserve(2_MiB);
#ifdef __SANITIZE_THREAD__
  taken = at(kWindow + 100_GiB);
#endif
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, taken, 0));
}
RULE_BROKEN(ReserveTooLarge) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 128_GiB + 1, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, SIZE_MAX, 0, nullptr, 0));
}
RULE_KEPT(ReserveTooLarge) { EXPECT_NE(reserve(128_GiB), nullptr); }

RULE_BROKEN(ReserveBeyond, {"PLAT_RULES", "VMM-Reserve-beyond-window=error"}) {
#ifdef __SANITIZE_THREAD__
  EXPECT_NE(reserve(2_MiB), nullptr);  // no window under ThreadSanitizer
#else
  void* va = nullptr;
  int reserved = 0;
  while (aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0) == ACL_SUCCESS) ++reserved;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0));
  EXPECT_GE(reserved, 60);
  EXPECT_LE(reserved, 64);
#endif
}
RULE_KEPT(ReserveBeyond) {
#ifndef __SANITIZE_THREAD__
  for (int i = 0; i < 160; ++i) EXPECT_NE(reserve(128_GiB), nullptr);  // 20 TiB
#endif
}

RULE_BROKEN(ReserveNoUc, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, at(128_TiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 2_GiB, 0, at(127_TiB + 1023_GiB), 0));
}
RULE_BROKEN(ReserveNoUcSize, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 2_MiB, 0, at(40_TiB), 0));
}

RULE_BROKEN(OutOfAddresses) {
  // Not by RLIMIT_AS: a sanitizer that runs with us needs addresses of its own. A process has 128 TiB.
  void* va = nullptr;
  for (int i = 0; i < 1024 && aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0) == ACL_SUCCESS; ++i) {
  }
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0));
}
RULE_KEPT(OutOfAddresses) { EXPECT_NE(reserve(4_GiB), nullptr); }

RULE_BROKEN(ReleaseUnknown) {
  Memory m;
  int on_stack = 0;
  EXPECT_BREAKS(aclrtReleaseMemAddress(offset(m.va, 2_MiB)));
  EXPECT_BREAKS(aclrtReleaseMemAddress(&on_stack));
  EXPECT_BREAKS(aclrtReleaseMemAddress(at(UINT64_MAX)));
  EXPECT_OK(aclrtReleaseMemAddress(m.va));
  EXPECT_BREAKS(aclrtReleaseMemAddress(m.va));
}
RULE_KEPT(ReleaseUnknown) { EXPECT_OK(aclrtReleaseMemAddress(reserve(3_GiB))); }

RULE_BROKEN(ReleaseMapped) {
  Memory m;
  m.map();
  EXPECT_BREAKS(aclrtReleaseMemAddress(m.va));
  EXPECT_OK(aclrtUnmapMem(m.va));
}
RULE_KEPT(ReleaseMapped) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtUnmapMem(m.va));
  EXPECT_OK(aclrtReleaseMemAddress(m.va));
  EXPECT_OK(aclrtFreePhysical(m.handle));
}

// -- Physical memory

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
RULE_KEPT(PhysicalReserve) { Memory m; }

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

// -- Mapping

RULE_BROKEN(MapOffset) {
  Memory m;
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 2_MiB, m.handle, 0));
  EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 1, m.handle, 0));
}
RULE_KEPT(MapOffset) {
  Memory m;
  m.map();
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
  m.map();
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

// -- Access

aclrtMemAccessDesc grant(aclrtMemLocationType type, uint32_t id,
                         int flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE) {
  aclrtMemAccessDesc desc{};
  desc.flags = static_cast<aclrtMemAccessFlags>(flags);
  desc.location.type = type;
  desc.location.id = id;
  return desc;
}

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
