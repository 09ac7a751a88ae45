// SPDX-License-Identifier: Apache-2.0
// Buffers that queues hand on.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple data_of(uint64_t buffer) {
  void* data = nullptr;
  size_t size = 0;
  const int ret = unlocked([&] { return aclrtGetBufData(to_c<aclrtMbuf>(buffer), &data, &size); });
  return py::make_tuple(to_python(data), size, ret);
}

}  // namespace

void add_mbuf(Group& rt) {
  const auto buf = "buf"_a, head = "head_buf"_a, data = "data_ptr"_a, size = "size"_a, offset = "offset"_a;
  rt.def(
      "alloc_buf", First<aclrtAllocBuf>::call, size, ReleaseIfWanted(),
      "(buf, ret): a buffer for queues, of at most 4 GiB, until free_buf. Only products whose programs run "
      "on the device have them.");
  rt.def("free_buf", Ret<aclrtFreeBuf>::call, buf, ReleaseIfWanted(),
         "Gives a buffer back, or one reference to it; the head of a chain takes the chain with it.");
  rt.def("set_buf_data_len", Ret<aclrtSetBufDataLen>::call, buf, "len"_a, ReleaseIfWanted(),
         "Says how many bytes of the buffer are in use.");
  rt.def("get_buf_data_len", Last<aclrtGetBufDataLen>::call, buf, ReleaseIfWanted(),
         "(len, ret): what set_buf_data_len said; 0 before.");
  rt.def("get_buf_data", data_of, buf, "(data_ptr, size, ret): where the bytes of a buffer are.");
  rt.def("get_buf_user_data", Ret<aclrtGetBufUserData>::call, buf, data, size, offset, ReleaseIfWanted(),
         "Copies from the 96 bytes that travel with a buffer to data_ptr.");
  rt.def("set_buf_user_data", Ret<aclrtSetBufUserData>::call, buf, data, size, offset, ReleaseIfWanted(),
         "Copies from data_ptr to the 96 bytes that travel with a buffer.");
  rt.def("copy_buf_ref", Last<aclrtCopyBufRef>::call, buf, ReleaseIfWanted(),
         "(new_buf, ret): another reference to the same bytes, to be freed for itself.");
  rt.def("append_buf_chain", Ret<aclrtAppendBufChain>::call, head, buf, ReleaseIfWanted(),
         "Hangs a buffer behind the last of a chain.");
  rt.def("get_buf_chain_num", Last<aclrtGetBufChainNum>::call, head, ReleaseIfWanted(),
         "(num, ret): how many buffers a chain has, the head included.");
  rt.def("get_buf_from_chain", Last<aclrtGetBufFromChain>::call, head, "index"_a, ReleaseIfWanted(),
         "(buf, ret): one of a chain; 0 is the head.");
}

}  // namespace plat::acl_python
