// SPDX-License-Identifier: Apache-2.0
// Elements and buffers: sizes of data types, half floats, and records of where data lies.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

void add_data(Group& acl) {
  const auto buffer = "data_buffer"_a, data = "data"_a, size = "size"_a;
  acl.def(
      "data_type_size", [](int32_t type) { return aclDataTypeSize(static_cast<aclDataType>(type)); },
      "data_type"_a, "The bytes of one element of a type (ACL_FLOAT and so on).");
  acl.def("float16_to_float", aclFloat16ToFloat, "value"_a,
          "A half float, as the int of its bits, as a float.");
  acl.def("float_to_float16", aclFloatToFloat16, "value"_a, "The bits of the nearest half float, as an int.");
  acl.def(
      "create_data_buffer",
      [](uint64_t address, size_t bytes) {
        return to_python(aclCreateDataBuffer(to_c<void*>(address), bytes));
      },
      data, size, ReleaseIfWanted(),
      "data_buffer: a record of where data lies, or 0. The data stays the caller's.");
  acl.def("destroy_data_buffer", Ret<aclDestroyDataBuffer>::call, buffer, ReleaseIfWanted(),
          "Frees a record, and not the data.");
  acl.def("update_data_buffer", Ret<aclUpdateDataBuffer>::call, buffer, data, size, ReleaseIfWanted(),
          "Lets a record name other data.");
  acl.def(
      "get_data_buffer_addr",
      [](uint64_t record) { return to_python(aclGetDataBufferAddr(to_c<aclDataBuffer*>(record))); }, buffer,
      "The address in a record; 0 for no record.");
  acl.def(
      "get_data_buffer_size",
      [](uint64_t record) { return aclGetDataBufferSize(to_c<aclDataBuffer*>(record)); }, buffer,
      "The size in a record, cut to 32 bits; 0 for no record.");
  acl.def(
      "get_data_buffer_size_v2",
      [](uint64_t record) { return aclGetDataBufferSizeV2(to_c<aclDataBuffer*>(record)); }, buffer,
      "The size in a record; 0 for no record.");
}

}  // namespace plat::acl_python
