// SPDX-License-Identifier: Apache-2.0
// Virtual memory: reserve, allocate, map, use, unmap, free, release.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple malloc_physical(uint64_t size, const py::dict& dict, uint64_t flags) {
  const aclrtPhysicalMemProp prop = prop_of(dict);
  aclrtDrvMemHandle handle = nullptr;
  const int ret = unlocked([&] { return aclrtMallocPhysical(&handle, size, &prop, flags); });
  return py::make_tuple(to_python(handle), ret);
}

py::tuple granularity(const py::dict& dict, int32_t option) {
  aclrtPhysicalMemProp prop = prop_of(dict);
  size_t size = 0;
  const int ret = unlocked([&] {
    return aclrtMemGetAllocationGranularity(&prop, static_cast<aclrtMemGranularityOptions>(option), &size);
  });
  return py::make_tuple(size, ret);
}

py::tuple properties(uint64_t handle) {
  aclrtPhysicalMemProp prop{};
  const int ret = unlocked(
      [&] { return aclrtMemGetAllocationPropertiesFromHandle(to_c<aclrtDrvMemHandle>(handle), &prop); });
  return py::make_tuple(to_dict(prop), ret);
}

py::tuple address_range(uint64_t address) {
  void* base = nullptr;
  size_t size = 0;
  const int ret = unlocked([&] { return aclrtMemGetAddressRange(to_c<void*>(address), &base, &size); });
  return py::make_tuple(to_python(base), size, ret);
}

int set_access(uint64_t address, uint64_t size, const py::list& list) {
  std::vector<aclrtMemAccessDesc> grants;
  for (const py::handle entry : list) {
    if (!py::isinstance<py::dict>(entry)) throw py::type_error("an entry of descs must be a dict");
    const auto dict = py::reinterpret_borrow<py::dict>(entry);
    aclrtMemAccessDesc grant{};
    grant.flags = static_cast<aclrtMemAccessFlags>(field(dict, "flags"));
    grant.location = location_of(dict_field(dict, "location"));
    grants.push_back(grant);
  }
  return unlocked(
      [&] { return aclrtMemSetAccess(to_c<void*>(address), size, grants.data(), grants.size()); });
}

py::tuple get_access(uint64_t address, const py::dict& dict) {
  aclrtMemLocation location = location_of(dict);
  uint64_t flag = 0;
  const int ret = unlocked([&] { return aclrtMemGetAccess(to_c<void*>(address), &location, &flag); });
  return py::make_tuple(flag, ret);
}

void add_mappings(Group& rt) {
  const auto vir_ptr = "vir_ptr"_a, size = "size"_a, offset = "offset"_a, handle = "handle"_a,
             flags = "flags"_a;
  rt.def("map_mem", Ret<aclrtMapMem>::call, vir_ptr, size, offset, handle, flags, ReleaseIfWanted(),
         "Maps physical memory at a 2 MiB aligned point of a reserved range. offset and flags are 0.");
  rt.def("mem_map_no_access", Ret<aclrtMemMapNoAccess>::call, vir_ptr, size, offset, handle, flags,
         ReleaseIfWanted(), "The same, with access for nobody until mem_set_access.");
  rt.def("unmap_mem", Ret<aclrtUnmapMem>::call, vir_ptr, ReleaseIfWanted(),
         "Removes the mapping that starts at vir_ptr.");
  rt.def("mem_set_access", set_access, vir_ptr, size, "descs"_a,
         "Grants access to exactly one mapping: [{'flags': 3, 'location': {'id', 'type'}}, ...].");
  rt.def("mem_get_access", get_access, vir_ptr, "location"_a,
         "(flag, ret): what a location {'id', 'type'} may do with a mapping: 0 nothing, 1 read, 3 read and "
         "write.");
  rt.def("mem_retain_allocation_handle", Last<aclrtMemRetainAllocationHandle>::call, vir_ptr,
         ReleaseIfWanted(),
         "(handle, ret): the handle behind a mapping, with one more reference that free_physical must drop.");
  rt.def("mem_get_address_range", address_range, "ptr"_a,
         "(base, size, ret): the mapping or block around an address.");
  rt.def("mem_map_selected_link", Ret<aclrtMemMapSelectedLink>::call, "vir_ptr_dst"_a, size, "vir_ptr_src"_a,
         "link_idx"_a, Release(),
         "Makes vir_ptr_dst an alias of vir_ptr_src through a chosen link; A3 only.");
  rt.def("mem_map_set_link", Ret<aclrtMemMapSetLink>::call, handle, "advice_link"_a, Release(),
         "Advises a link for later mappings of a handle.");
}

}  // namespace

void add_vmm(Group& rt) {
  const auto size = "size"_a;
  const auto prop = "prop"_a;
  const auto handle = "handle"_a;
  const auto flags = "flags"_a;
  rt.def("reserve_mem_address", First<aclrtReserveMemAddress>::call, size, "alignment"_a, "expect_ptr"_a,
         flags, Release(),
         R"((vir_ptr, ret): reserves an address range, without memory. alignment is 0, expect_ptr 0 or a free
address of the device's window, flags 1 for huge pages and 0 for common ones.)");
  rt.def("reserve_mem_address_no_uc_memory", First<aclrtReserveMemAddressNoUCMemory>::call, size,
         "alignment"_a, "expect_ptr"_a, flags, Release(),
         "(vir_ptr, ret): the same address on all nodes; A3 only, sizes in 1 GiB.");
  rt.def("release_mem_address", Ret<aclrtReleaseMemAddress>::call, "vir_ptr"_a, Release(),
         "Gives a range back; unmap what is in it before.");
  rt.def(
      "malloc_physical", malloc_physical, size, prop, flags,
      R"((handle, ret): physical memory. prop is {'handleType': 0, 'allocationType': 0, 'memAttr': 4, 'location':
{'id': 0, 'type': 1}, 'reserve': 0}; flags is 0. 207001 when memory is short.)");
  rt.def("free_physical", Ret<aclrtFreePhysical>::call, handle, Release(),
         "Drops one reference; the memory returns when no mapping holds it either.");
  rt.def("mem_get_allocation_granularity", granularity, prop, "option"_a,
         "(granularity, ret): the unit of sizes; option is ACL_RT_MEM_ALLOC_GRANULARITY_*.");
  rt.def("mem_get_allocation_properties_from_handle", properties, handle,
         "(prop, ret): what a handle was allocated as.");
  add_mappings(rt);
}

}  // namespace plat::acl_python
