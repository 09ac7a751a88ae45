// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools: memory that is allocated and freed in the order of a stream.

#include "acl/acl_rt_memory_soma.h"
#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple create(const py::dict& dict) {
  aclrtMemPoolProps props{};
  props.allocType = static_cast<aclrtMemAllocationType>(field(dict, "allocType"));
  props.handleType = static_cast<aclrtMemHandleType>(field(dict, "handleType"));
  props.location = location_of(dict_field(dict, "location"));
  props.maxSize = dict.contains("maxSize") ? unsigned_integer(dict["maxSize"], "maxSize") : 0;
  aclrtMemPool pool = nullptr;
  const int ret = unlocked([&] { return aclrtMemPoolCreate(&pool, &props); });
  return py::make_tuple(to_python(pool), ret);
}

// Large enough for every attribute; those of 32 bits lie in the lower half.
int set_pool_attr(uint64_t pool, int32_t attr, uint64_t value) {
  return aclrtMemPoolSetAttr(to_c<aclrtMemPool>(pool), static_cast<aclrtMemPoolAttr>(attr), &value);
}

Valued<uint64_t> get_attr(uint64_t pool, int32_t attr) {
  uint64_t value = 0;
  const int ret = aclrtMemPoolGetAttr(to_c<aclrtMemPool>(pool), static_cast<aclrtMemPoolAttr>(attr), &value);
  return {value, ret};
}

}  // namespace

void add_pools(Group& rt) {
  const auto pool = "mem_pool"_a;
  rt.def("mem_pool_create", create, "props"_a,
         R"((mem_pool, ret): a pool on a device. props is {'location': {'id', 'type': 1}, 'maxSize': 0, ...};
maxSize 0 is the whole device.)");
  rt.def("mem_pool_destroy", Ret<aclrtMemPoolDestroy>::call, pool, Release(), "Destroys a pool.");
  rt.def("mem_pool_set_attr", set_pool_attr, pool, "attr"_a, "value"_a, Release(),
         "Sets an attribute (ACL_RT_MEM_POOL_*).");
  rt.def("mem_pool_get_attr", get_attr, pool, "attr"_a, ReleaseIfWanted(), "(value, ret) of an attribute.");
  rt.def("mem_pool_malloc_async", First<aclrtMemPoolMallocAsync>::call, "size"_a, pool, "stream"_a, Release(),
         "(ptr, ret): memory for work that is queued later on the stream.");
  rt.def("mem_pool_free_async", Ret<aclrtMemPoolFreeAsync>::call, "ptr"_a, "stream"_a, Release(),
         "Frees after the work that is queued on the stream now.");
  rt.def("mem_pool_trim_to", Ret<aclrtMemPoolTrimTo>::call, pool, "min_bytes_to_keep"_a, Release(),
         "Gives idle memory back until so many bytes remain.");
}

}  // namespace plat::acl_python
