// SPDX-License-Identifier: Apache-2.0
// Reservations of all servers alike: what their clients, transfer libraries, do with them.
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

aclrtPhysicalMemProp host_prop(aclrtMemAttr attribute) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = attribute;
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  return prop;
}

// Where the system lets a program choose addresses at all.
bool has_fixed_addresses() {
#if defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

TEST(CrossServer, FlagsAreZeroOrOne) {
  if (!has_fixed_addresses()) GTEST_SKIP() << "no fixed addresses";
  run({{"PLAT_PRODUCT", "a3"}}, [] {
    void* va = nullptr;
    for (const uint64_t flags : {0, 1}) {
      EXPECT_OK(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, at(40_TiB), flags));
      EXPECT_EQ(va, at(40_TiB));
      EXPECT_OK(aclrtReleaseMemAddress(va));
    }
    // Null, size, flags, alignment: in this order.
    EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(nullptr, 0, 1, nullptr, 2), 100000);
    EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 1, nullptr, 2), 100000);
    EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 1, at(40_TiB), 1), 107000);
  });
}

// 32 TiB at 40 TiB, with device, host and imported memory of several page sizes side by side.
TEST(CrossServer, TakesAllMemorySideBySide) {
  if (!has_fixed_addresses()) GTEST_SKIP() << "no fixed addresses";
  run({{"PLAT_PRODUCT", "a3"},
       {"PLAT_CAPACITY", "4GiB"},
       {"PLAT_HOST_CAPACITY", "4GiB"},
       {"PLAT_LOG", "off"}},
      [] {
        EXPECT_OK(aclrtSetDevice(1));
        EXPECT_OK(aclrtSetDevice(0));
        void* va = nullptr;
        EXPECT_OK(aclrtReserveMemAddressNoUCMemory(&va, 32_TiB, 0, at(40_TiB), 1));
        aclrtDrvMemHandle imported = nullptr;
        aclrtMemFabricHandle fabric{};
        aclrtDrvMemHandle host = physical(2_MiB, host_prop(ACL_MEM_P2P_HUGE));
        EXPECT_OK(aclrtMemExportToShareableHandleV2(host, 1, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric));
        EXPECT_OK(
            aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &imported));
        struct Piece {
          uint64_t offset, size;
          aclrtDrvMemHandle handle;
          uint32_t page;
        };
        const Piece pieces[] = {
            {0, 2_MiB, physical(2_MiB), 2_MiB},
            {2_MiB, 2_MiB, host, 2_MiB},
            {4_MiB, 2_MiB, imported, 2_MiB},
            {6_MiB, 2_MiB, physical(2_MiB, device_prop(1)), 2_MiB},
            {1_GiB, 1_GiB, physical(1_GiB, device_prop(0, ACL_HBM_MEM_HUGE1G)), 1_GiB},
            {32_TiB - 2_MiB, 2_MiB, physical(2_MiB), 2_MiB},
        };
        for (const Piece& piece : pieces) {
          char* start = offset(va, piece.offset);
          EXPECT_OK(aclrtMapMem(start, piece.size, 0, piece.handle, 0));
          EXPECT_OK(aclrtMemset(start, 64, 5, 64));
          aclrtPtrAttributes attributes{};
          EXPECT_OK(aclrtPointerGetAttributes(start, &attributes));
          if (attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
            EXPECT_EQ(attributes.pageSize, piece.page);
          }
        }
        EXPECT_EQ(aclrtReleaseMemAddress(va), 507899);
        for (const Piece& piece : pieces) EXPECT_OK(aclrtUnmapMem(offset(va, piece.offset)));
        EXPECT_OK(aclrtReleaseMemAddress(va));
      });
}

// Ordinary reservations keep their rules.
TEST(CrossServer, OrdinaryRangesStayBoundToOneDevice) {
  run({{"PLAT_PRODUCT", "a3"}}, [] {
    Memory m;
    m.map();
    EXPECT_NE(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, physical(2_MiB, device_prop(1)), 0), ACL_SUCCESS);
  });
}

// A framework reserves 9/8 of the device; the newer driver takes it.
TEST(LargeReservation, IsFineOnAscend950) {
  run({{"PLAT_PRODUCT", "950"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* va = nullptr;
    EXPECT_OK(aclrtReserveMemAddress(&va, 144_GiB, 0, nullptr, 1));
    EXPECT_OK(aclrtMapMem(offset(va, 144_GiB - 2_MiB), 2_MiB, 0, physical(2_MiB), 0));
    EXPECT_EQ(aclrtReserveMemAddress(&va, 137_TiB, 0, nullptr, 1), 207001);
    EXPECT_EQ(aclrtReserveMemAddress(&va, SIZE_MAX, 0, nullptr, 1), 207001);
  });
}

// On a product without virtual memory what is wrong with the arguments comes first.
TEST(NoVirtualMemory, ArgumentsComeBeforeTheProduct) {
  run({{"PLAT_PRODUCT", "200"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* va = nullptr;
    aclrtDrvMemHandle handle = nullptr;
    aclrtPhysicalMemProp prop = device_prop();
    size_t size = 0;
    uint64_t number = 0;
    int32_t pid = 1;
    EXPECT_EQ(aclrtReserveMemAddress(nullptr, 2_MiB, 0, nullptr, 0), 100000);
    EXPECT_EQ(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 0), 207000);
    EXPECT_EQ(aclrtReleaseMemAddress(nullptr), 100000);
    EXPECT_EQ(aclrtReleaseMemAddress(at(16_TiB)), 207000);
    EXPECT_EQ(aclrtMallocPhysical(&handle, 0, &prop, 0), 100000);
    prop.handleType = static_cast<aclrtMemHandleType>(1);
    EXPECT_EQ(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0), 100000);
    EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, nullptr), 100000);
    EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size), 207000);
    EXPECT_EQ(aclrtMapMem(at(16_TiB), 0, 0, &handle, 0), 100000);
    EXPECT_EQ(aclrtMapMem(at(16_TiB), 2_MiB, 0, &handle, 0), 207000);
    EXPECT_EQ(aclrtUnmapMem(nullptr), 100000);
    EXPECT_EQ(aclrtFreePhysical(nullptr), 100000);
    EXPECT_EQ(aclrtFreePhysical(&handle), 207000);
    EXPECT_EQ(aclrtMemExportToShareableHandle(&handle, ACL_MEM_HANDLE_TYPE_NONE, 0, nullptr), 100000);
    EXPECT_EQ(aclrtMemExportToShareableHandle(&handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number), 207000);
    EXPECT_EQ(aclrtMemSetPidToShareableHandle(1, nullptr, 1), 100000);
    EXPECT_EQ(aclrtMemSetPidToShareableHandle(1, &pid, 1), 207000);
    EXPECT_EQ(aclrtMemImportFromShareableHandle(1, 9, &handle), 107001);
    EXPECT_EQ(aclrtMemImportFromShareableHandle(1, 0, &handle), 207000);
  });
}

// The granularity of a property that no allocation would take.
TEST(Granularity, LooksAtAttributeAndDeviceAlone) {
  run({}, [] {
    size_t size = 0;
    const auto ask = [&](const aclrtPhysicalMemProp& asked,
                         int option = ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM) {
      aclrtPhysicalMemProp prop = asked;
      return aclrtMemGetAllocationGranularity(&prop, static_cast<aclrtMemGranularityOptions>(option), &size);
    };
    aclrtPhysicalMemProp odd = device_prop();
    odd.handleType = static_cast<aclrtMemHandleType>(7);
    odd.allocationType = static_cast<aclrtMemAllocationType>(7);
    EXPECT_OK(ask(odd));
    EXPECT_EQ(size, 2_MiB);
    odd.location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    EXPECT_OK(ask(odd));
    EXPECT_EQ(ask(device_prop(99, ACL_DDR_MEM_HUGE), 9), 100000);
    EXPECT_EQ(ask(device_prop(99, ACL_HBM_MEM), 9), 100000);
    EXPECT_EQ(ask(device_prop(99), 9), 107001);
    EXPECT_EQ(ask(device_prop(0), 9), 207000);
  });
}

}  // namespace
}  // namespace plat::rule_test
