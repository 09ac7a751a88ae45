// SPDX-License-Identifier: Apache-2.0
// Host memory: page-locked, and existing memory registered for the device.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple malloc_with_config(uint64_t size, const py::dict& dict) {
  Config config(dict);
  void* address = nullptr;
  const int ret = unlocked([&] { return aclrtMallocHostWithCfg(&address, size, config.get()); });
  return py::make_tuple(to_python(address), ret);
}

Valued<void*> device_pointer(uint64_t host, uint32_t flag) {
  void* address = nullptr;
  const int ret = aclrtHostGetDevicePointer(to_c<void*>(host), &address, flag);
  return {to_python(address), ret};
}

}  // namespace

void add_host(Group& rt) {
  const auto ptr = "ptr"_a;
  const auto size = "size"_a;
  rt.def("malloc_host", First<aclrtMallocHost>::call, size, Release(),
         "(host_ptr, ret): page-locked host memory; acl.util turns it into bytes or an array.");
  rt.def("malloc_host_with_cfg", malloc_with_config, size, "cfg"_a,
         "(host_ptr, ret): the same with attributes.");
  rt.def("free_host", Ret<aclrtFreeHost>::call, "host_ptr"_a, Release(),
         "Frees page-locked host memory at once.");
  rt.def("free_host_with_dev_sync", Ret<aclrtFreeHostWithDevSync>::call, "host_ptr"_a, Release(),
         "Waits for the device, then frees.");
  rt.def("host_register", Last<aclrtHostRegister>::call, ptr, size, "type"_a, Release(),
         "(dev_ptr, ret): makes an existing 4 KiB aligned host range usable by the device.");
  rt.def(
      "host_register_v2", Ret<aclrtHostRegisterV2>::call, ptr, size, "flag"_a, Release(),
      "Registers a host range with ACL_HOST_REG_* flags; host_get_device_pointer tells the device's view.");
  rt.def("host_get_device_pointer", device_pointer, "host_ptr"_a, "flag"_a, ReleaseIfWanted(),
         "(dev_ptr, ret): the device's view of an address in registered memory. flag is 0.");
  rt.def("host_unregister", Ret<aclrtHostUnregister>::call, ptr, Release(),
         "Ends a registration, named by its start.");
  rt.def("host_mem_map_capabilities", Last<aclrtHostMemMapCapabilities>::call, "device_id"_a, "hac_type"_a,
         Release(), "(capability, ret): whether an engine of the device can use mapped host memory.");
}

}  // namespace plat::acl_python
