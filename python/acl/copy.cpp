// SPDX-License-Identifier: Apache-2.0
// Copies, fills and stores in stream order.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

Valued<size_t> desc_size(int32_t kind) {
  size_t size = 0;
  const int ret = aclrtGetMemcpyDescSize(static_cast<aclrtMemcpyKind>(kind), &size);
  return {size, ret};
}

// pyACL gives the descriptor back beside the code.
Valued<void*> set_desc(uint64_t desc, int32_t kind, uint64_t source, uint64_t target, size_t count,
                       uint64_t config) {
  const int ret = aclrtSetMemcpyDesc(to_c<void*>(desc), static_cast<aclrtMemcpyKind>(kind),
                                     to_c<void*>(source), to_c<void*>(target), count, to_c<void*>(config));
  return {desc, ret};
}

void add_fills(Group& rt) {
  const auto dev_ptr = "dev_ptr"_a;
  const auto value = "value"_a;
  const auto stream = "stream"_a;
  rt.def("memset", Ret<aclrtMemset>::call, dev_ptr, "max_count"_a, value, "count"_a, ReleaseIfWanted(),
         "Fills count bytes with the low byte of value, now.");
  rt.def("memset_async", Ret<aclrtMemsetAsync>::call, dev_ptr, "max_count"_a, value, "count"_a, stream,
         Release(), "The same in stream order.");
  rt.def("memset_d32", Ret<aclrtMemsetD32>::call, "ptr"_a, "mem_size"_a, value, "count"_a, Release(),
         "Fills 32-bit words, now.");
  rt.def("memset_d32_async", Ret<aclrtMemsetD32Async>::call, "ptr"_a, "mem_size"_a, value, "count"_a, stream,
         Release(), "The same in stream order.");
  rt.def("value_write", Ret<aclrtValueWrite>::call, "dev_addr"_a, value, "flag"_a, stream, ReleaseIfWanted(),
         "Stores 64 bits at an aligned device address, in stream order. flag is 0.");
  rt.def("value_wait", Ret<aclrtValueWait>::call, "dev_addr"_a, value, "flag"_a, stream, ReleaseIfWanted(),
         "Makes the stream wait until the 64 bits there compare with value as flag (ACL_STREAM_WAIT_VALUE_*) "
         "says.");
}

}  // namespace

void add_copy(Group& rt) {
  const auto dst = "dst"_a, src = "src"_a, count = "count"_a, kind = "kind"_a, stream = "stream"_a;
  const auto dest_max = "dest_max"_a, dpitch = "dpitch"_a, spitch = "spitch"_a, width = "width"_a;
  rt.def("memcpy", Ret<aclrtMemcpy>::call, dst, dest_max, src, count, kind, ReleaseIfWanted(),
         "Copies now. dest_max is what the destination can take; kind is ACL_MEMCPY_*.");
  rt.def("memcpy_async", Ret<aclrtMemcpyAsync>::call, dst, dest_max, src, count, kind, stream, Release(),
         "Copies in stream order. Keep host memory until the stream is synchronized.");
  rt.def("memcpy_async_with_condition", Ret<aclrtMemcpyAsyncWithCondition>::call, dst, dest_max, src, count,
         kind, stream, Release(), "Older name of memcpy_async.");
  rt.def("memcpy_async_with_offset", Ret<aclrtMemcpyAsyncWithOffset>::call, dst, dest_max,
         "dst_data_offset"_a, src, count, "src_data_offset"_a, kind, stream, Release(),
         "Copies in stream order between the addresses that dst and src point to when it runs.");
  rt.def("memcpy2d", Ret<aclrtMemcpy2d>::call, dst, dpitch, src, spitch, width, "height"_a, kind,
         ReleaseIfWanted(), "Copies height rows of width bytes now, between host and device.");
  rt.def("memcpy2d_async", Ret<aclrtMemcpy2dAsync>::call, dst, dpitch, src, spitch, width, "height"_a, kind,
         stream, Release(), "The same in stream order.");
  rt.def("get_memcpy_desc_size", desc_size, kind, ReleaseIfWanted(),
         "(size, ret): bytes of device memory that a copy descriptor takes.");
  rt.def("set_memcpy_desc", set_desc, "desc"_a, kind, src, dst, count, "config"_a, Release(),
         "(desc, ret): writes a copy descriptor into device memory. config is 0.");
  rt.def("memcpy_async_with_desc", Ret<aclrtMemcpyAsyncWithDesc>::call, "desc"_a, kind, stream, Release(),
         "Copies in stream order what a descriptor says.");
  rt.def("reduce_async", Ret<aclrtReduceAsync>::call, dst, src, count, kind, "type"_a, stream, "reserve"_a,
         Release(),
         "dst = dst op src in stream order; count is in bytes, kind ACL_RT_MEMCPY_SDMA_AUTOMATIC_*, type "
         "ACL_FLOAT and so on. reserve is 0.");
  add_fills(rt);
}

}  // namespace plat::acl_python
