// SPDX-License-Identifier: Apache-2.0
// Device memory: allocate, free, ask.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

using Allocate = aclError (*)(void**, size_t, aclrtMemMallocPolicy, aclrtMallocConfig*);

template <Allocate Call>
py::tuple with_config(uint64_t size, int32_t policy, const py::dict& dict) {
  Config config(dict);
  void* address = nullptr;
  const int ret =
      unlocked([&] { return Call(&address, size, static_cast<aclrtMemMallocPolicy>(policy), config.get()); });
  return py::make_tuple(to_python(address), ret);
}

py::tuple mem_info(int32_t attr) {
  size_t free = 0, total = 0;
  const int ret = unlocked([&] { return aclrtGetMemInfo(static_cast<aclrtMemAttr>(attr), &free, &total); });
  return py::make_tuple(free, total, ret);
}

constexpr size_t kUsageEntriesMax = 4096;

py::tuple mem_usage_info(int32_t device, size_t count) {
  if (count > kUsageEntriesMax) throw py::value_error("count is above 4096");
  std::vector<aclrtMemUsageInfo> entries(count);
  size_t filled = 0;
  const int ret = unlocked([&] { return aclrtGetMemUsageInfo(device, entries.data(), count, &filled); });
  py::list list;
  for (size_t i = 0; ret == ACL_SUCCESS && i < filled; ++i)
    list.append(py::dict("name"_a = entries[i].name, "cur_mem_size"_a = entries[i].curMemSize,
                         "mem_peak_size"_a = entries[i].memPeakSize));
  return py::make_tuple(list, ret);
}

py::tuple check_mem_type(const py::list& list, uint32_t type, uint32_t reserve) {
  std::vector<void*> addresses;
  for (const py::handle address : list)
    addresses.push_back(to_c<void*>(unsigned_integer(address, "an address")));
  uint32_t result = 0;
  const int ret = unlocked([&] {
    return aclrtCheckMemType(addresses.data(), static_cast<uint32_t>(addresses.size()), type, &result,
                             reserve);
  });
  return py::make_tuple(result, ret);
}

py::tuple pointer_attributes(uint64_t address) {
  aclrtPtrAttributes attributes{};
  const int ret = unlocked([&] { return aclrtPointerGetAttributes(to_c<void*>(address), &attributes); });
  py::list reserved;
  for (const uint32_t word : attributes.rsv) reserved.append(word);
  return py::make_tuple(py::dict("location"_a = to_dict(attributes.location),
                                 "page_size"_a = attributes.pageSize, "rsv"_a = reserved),
                        ret);
}

}  // namespace

void add_memory(Group& rt) {
  const auto size = "size"_a;
  const auto policy = "policy"_a;
  const auto dev_ptr = "dev_ptr"_a;
  rt.def(
      "malloc", First<aclrtMalloc>::call, size, policy, Release(),
      R"((dev_ptr, ret): device memory on the current device; size is rounded up to 32 bytes, plus the product's
padding. policy is ACL_MEM_MALLOC_*; 207001 when memory is short.)");
  rt.def("malloc_align32", First<aclrtMallocAlign32>::call, size, policy, Release(),
         "(dev_ptr, ret): the same without the padding.");
  rt.def("malloc_cached", First<aclrtMallocCached>::call, size, policy, Release(),
         "(dev_ptr, ret): memory that the product may cache; mem_flush and mem_invalidate order it.");
  rt.def("malloc_with_cfg", with_config<aclrtMallocWithCfg>, size, policy, "cfg"_a,
         "(dev_ptr, ret). cfg is {} or {'numAttrs': n, 'attrs': [{'attr': 1, 'value': {'moduleId': 33}}, "
         "...]}.");
  rt.def("malloc_for_task_scheduler", with_config<aclrtMallocForTaskScheduler>, size, policy, "cfg"_a,
         "(dev_ptr, ret): memory that the task scheduler reads.");
  rt.def("free", Ret<aclrtFree>::call, dev_ptr, Release(),
         "Frees device memory at once; wait for the work that uses it before.");
  rt.def("free_with_dev_sync", Ret<aclrtFreeWithDevSync>::call, dev_ptr, Release(),
         "Waits for the device, then frees.");
  rt.def("mem_flush", Ret<aclrtMemFlush>::call, dev_ptr, size, Release(), "Writes cached bytes back.");
  rt.def("mem_invalidate", Ret<aclrtMemInvalidate>::call, dev_ptr, size, Release(), "Drops cached bytes.");
  rt.def("get_mem_info", mem_info, "attr"_a,
         "(free, total, ret): bytes of the kind of memory that attr (ACL_HBM_MEM and so on) names.");
  rt.def(
      "get_mem_usage_info", mem_usage_info, "device_id"_a, "count"_a,
      R"((list, ret): at most count users of a device's memory, largest first, each a dict of name, cur_mem_size
and mem_peak_size.)");
  rt.def("check_mem_type", check_mem_type, "addresses"_a, "mem_type"_a, "reserve"_a,
         "(result, ret): 1 if all addresses are of the kinds in mem_type (ACL_RT_MEM_TYPE_*). reserve is 0.");
  rt.def("pointer_get_attributes", pointer_attributes, "ptr"_a,
         "({'location': {'id', 'type'}, 'page_size', 'rsv'}, ret): where an address lies.");
}

}  // namespace plat::acl_python
