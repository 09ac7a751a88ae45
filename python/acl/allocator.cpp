// SPDX-License-Identifier: Apache-2.0
// An allocator of the program's own for a stream. Its functions are C functions, given by address: those of a
// library such as libplat_pool.so, or of ctypes.

#include "acl/acl_rt_allocator.h"

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

uint64_t create_desc() { return to_python(aclrtAllocatorCreateDesc()); }

py::tuple by_stream(uint64_t stream) {
  aclrtAllocatorDesc desc = nullptr;
  aclrtAllocator allocator = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  const int ret = unlocked([&] {
    return aclrtAllocatorGetByStream(to_c<aclrtStream>(stream), &desc, &allocator, &allocate, &free, &advise,
                                     &address);
  });
  return py::make_tuple(to_python(desc), to_python(allocator), to_python(allocate), to_python(free),
                        to_python(advise), to_python(address), ret);
}

}  // namespace

void add_allocator(Group& rt) {
  const auto desc = "desc"_a, func = "func"_a, stream = "stream"_a;
  rt.def("allocator_create_desc", create_desc, "desc: an empty description, or 0.");
  rt.def("allocator_destroy_desc", Ret<aclrtAllocatorDestroyDesc>::call, desc, Release(),
         "Frees a description; allowed after it was registered.");
  rt.def("allocator_set_obj_to_desc", Ret<aclrtAllocatorSetObjToDesc>::call, desc, "allocator"_a, Release(),
         "The object, by address, that the functions are given.");
  rt.def("allocator_set_alloc_func_to_desc", Ret<aclrtAllocatorSetAllocFuncToDesc>::call, desc, func,
         Release(), "The address of the C function that allocates a block.");
  rt.def("allocator_set_free_func_to_desc", Ret<aclrtAllocatorSetFreeFuncToDesc>::call, desc, func, Release(),
         "The address of the C function that frees a block.");
  rt.def("allocator_set_alloc_advise_func_to_desc", Ret<aclrtAllocatorSetAllocAdviseFuncToDesc>::call, desc,
         func, Release(), "The address of the C function that allocates near an address. Optional.");
  rt.def("allocator_set_get_addr_from_block_func_to_desc",
         Ret<aclrtAllocatorSetGetAddrFromBlockFuncToDesc>::call, desc, func, Release(),
         "The address of the C function that tells a block's device address.");
  rt.def("allocator_register", Ret<aclrtAllocatorRegister>::call, stream, desc, Release(),
         "Registers a description on a stream that is not 0, in place of an earlier one.");
  rt.def(
      "allocator_get_by_stream", by_stream, stream,
      "(desc, allocator, alloc_func, free_func, alloc_advise_func, get_addr_from_block_func, ret): what is "
      "registered on a stream.");
  rt.def("allocator_unregister", Ret<aclrtAllocatorUnregister>::call, stream, Release(),
         "Ends a registration; succeeds when there is none.");
}

}  // namespace plat::acl_python
