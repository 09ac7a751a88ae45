// SPDX-License-Identifier: Apache-2.0
// A fault at every step of addresses, handles on physical memory, and mappings.
#include "base/units.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

void reserve() { EXPECT_DONE(aclrtReserveMemAddress(&address, 2_MiB, 0, nullptr, 0)); }
void release() { EXPECT_DONE(aclrtReleaseMemAddress(address)); }
void map() {
  allocate_handle();
  reserve();
  EXPECT_DONE(aclrtMapMem(address, 2_MiB, 0, handle, 0));
}
void take_map_down() {
  EXPECT_DONE(aclrtUnmapMem(address));
  free_handle();
  release();
}
aclError make_handle() {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return aclrtMallocPhysical(&handle, 6_MiB, &prop, 0);
}
void handle_and_address() {
  allocate_handle();
  EXPECT_DONE(aclrtReserveMemAddress(&address, 4_MiB, 0, nullptr, 0));
}
void end_addresses() {
  free_handle();
  EXPECT_DONE(aclrtReleaseMemAddress(address));
}

std::vector<Scenario> scenarios() {
  return {
      {"aclrtReserveMemAddress", nothing,
       [] { return aclrtReserveMemAddress(&address, 4_MiB, 0, nullptr, 0); }, release},
      {"aclrtReserveMemAddressNoUCMemory", nothing,
       [] {
         return aclrtReserveMemAddressNoUCMemory(&address, 1_GiB, 0, reinterpret_cast<void*>(40_TiB), 1);
       },
       [] { EXPECT_DONE(aclrtReleaseMemAddress(address)); }, as("a3")},
      {"aclrtReleaseMemAddress", reserve, [] { return aclrtReleaseMemAddress(address); }, nothing},
      {"aclrtMallocPhysical", nothing, make_handle, free_handle},
      {"aclrtFreePhysical", allocate_handle, [] { return aclrtFreePhysical(handle); }, nothing},
      {"aclrtMapMem", [] { allocate_handle(), reserve(); },
       [] { return aclrtMapMem(address, 2_MiB, 0, handle, 0); }, take_map_down},
      {"aclrtMemMapNoAccess", handle_and_address,
       [] { return aclrtMemMapNoAccess(address, 2_MiB, 0, handle, 0); },
       [] {
         EXPECT_DONE(aclrtUnmapMem(address));
         end_addresses();
       }},
      {"aclrtMemMapSetLink", allocate_handle,
       [] { return aclrtMemMapSetLink(handle, ACL_RT_MEM_ACCESS_LINK_HCCS); }, free_handle, as("a3")},
      {"aclrtMemMapSelectedLink",
       [] {
         handle_and_address();
         EXPECT_DONE(aclrtMapMem(address, 2_MiB, 0, handle, 0));
       },
       [] { return aclrtMemMapSelectedLink(static_cast<char*>(address) + 2_MiB, 2_MiB, address, 1); },
       [] {
         EXPECT_DONE(aclrtUnmapMem(static_cast<char*>(address) + 2_MiB));
         EXPECT_DONE(aclrtUnmapMem(address));
         end_addresses();
       },
       as("a3")},
      {"aclrtUnmapMem", map, [] { return aclrtUnmapMem(address); }, [] { free_handle(), release(); }},
      {"aclrtUnmapMem of memory that was written",
       [] {
         map();
         EXPECT_DONE(aclrtMemset(address, 2_MiB, 1, 2_MiB));
         free_handle();
       },
       [] { return aclrtUnmapMem(address); }, release},
      {"aclrtMemSetAccess", map,
       [] {
         aclrtMemAccessDesc access{};
         access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
         access.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
         return aclrtMemSetAccess(address, 2_MiB, &access, 1);
       },
       take_map_down},
      {"aclrtMemRetainAllocationHandle", map, [] { return aclrtMemRetainAllocationHandle(address, &handle); },
       [] { free_handle(), take_map_down(); }},
  };
}

INSTANTIATE_TEST_SUITE_P(Vmm, EveryStepTest, in_every_way(scenarios()), name_of_case);

}  // namespace
}  // namespace plat::test
