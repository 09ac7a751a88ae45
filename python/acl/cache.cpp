// SPDX-License-Identifier: Apache-2.0
// Cache operations, in stream order.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

int wait_barrier(const py::list& list, uint64_t stream, uint32_t flag) {
  if (py::len(list) > ACL_RT_CMO_MAX_BARRIER_NUM) throw py::value_error("at most 6 barriers in one call");
  aclrtBarrierTaskInfo info{};
  for (const py::handle entry : list) {
    if (!py::isinstance<py::dict>(entry)) throw py::type_error("an entry of barriers must be a dict");
    const auto dict = py::reinterpret_borrow<py::dict>(entry);
    info.cmoInfo[info.barrierNum++] = {static_cast<aclrtCmoType>(field(dict, "cmoType")),
                                       field(dict, "barrierId")};
  }
  return unlocked([&] { return aclrtCmoWaitBarrier(&info, to_c<aclrtStream>(stream), flag); });
}

}  // namespace

void add_cache(Group& rt) {
  rt.def("device_l2_cache_flush", Ret<aclrtDeviceL2CacheFlush>::call, "rsv"_a, Release(),
         "Writes all of a device's cache back. rsv is 0.");
  rt.def("cmo_async", Ret<aclrtCmoAsync>::call, "src"_a, "size"_a, "type"_a, "stream"_a, ReleaseIfWanted(),
         "A cache operation (ACL_RT_CMO_TYPE_*) on a device range.");
  rt.def("cmo_async_with_barrier", Ret<aclrtCmoAsyncWithBarrier>::call, "src"_a, "size"_a, "type"_a,
         "barrier_id"_a, "stream"_a, Release(), "The same with a number that cmo_wait_barrier can wait for.");
  rt.def("cmo_wait_barrier", wait_barrier, "barriers"_a, "stream"_a, "flag"_a,
         "Makes the stream wait for barriers [{'cmoType', 'barrierId'}, ...]. flag is 0.");
  rt.def("cmo_get_desc_size", First<aclrtCmoGetDescSize>::call, Release(),
         "(size, ret) of a cache descriptor.");
  rt.def("cmo_set_desc", Ret<aclrtCmoSetDesc>::call, "desc"_a, "src"_a, "size"_a, Release(),
         "Writes a cache descriptor for a device range.");
  rt.def("cmo_async_with_desc", Ret<aclrtCmoAsyncWithDesc>::call, "desc"_a, "type"_a, "stream"_a, "reserve"_a,
         Release(), "The cache operation on the range of a descriptor. reserve is 0.");
}

}  // namespace plat::acl_python
