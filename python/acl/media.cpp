// SPDX-License-Identifier: Apache-2.0
// Media memory, by both of its names.

#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple dvpp_malloc_with_config(uint64_t size, const py::dict& dict) {
  Config config(dict);
  void* address = nullptr;
  const int ret = unlocked([&] { return acldvppMallocWithCfg(&address, size, config.get()); });
  return py::make_tuple(to_python(address), ret);
}

Valued<void*> himpi_malloc(uint32_t device, uint64_t size) {
  void* address = nullptr;
  const int ret = hi_mpi_dvpp_malloc(device, &address, size);
  return {to_python(address), ret};
}

}  // namespace

void add_media(Group& media, Group& himpi) {
  media.def("dvpp_malloc", First<acldvppMalloc>::call, "size"_a, Release(),
            "(dev_ptr, ret): media memory on the current device; it starts at a multiple of 128 bytes.");
  media.def("dvpp_malloc_with_cfg", dvpp_malloc_with_config, "size"_a, "cfg"_a,
            "(dev_ptr, ret): the same with attributes.");
  media.def("dvpp_free", Ret<acldvppFree>::call, "dev_ptr"_a, Release(),
            "Frees media memory; not to be mixed with rt.free.");
  himpi.def("dvpp_malloc", himpi_malloc, "dev_id"_a, "size"_a, Release(),
            "(dev_ptr, ret): media memory on the current device; dev_id is reserved.");
  himpi.def("dvpp_free", Ret<hi_mpi_dvpp_free>::call, "dev_ptr"_a, Release(), "Frees it.");
}

}  // namespace plat::acl_python
