// SPDX-License-Identifier: Apache-2.0
// Elements and buffers: arithmetic and plain records, which need neither a device nor a start.
#include "acl/acl_data.h"

#include <bit>
#include <new>

#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

struct aclDataBuffer {
  void* data;
  size_t size;
};

extern "C" {

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
      return 0;
    case ACL_UINT1:
    case ACL_INT4:
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 8;  // what is not known counts as the largest of the plain types
  }
}

float aclFloat16ToFloat(aclFloat16 value) { return static_cast<float>(std::bit_cast<_Float16>(value)); }

aclFloat16 aclFloatToFloat16(float value) { return std::bit_cast<aclFloat16>(static_cast<_Float16>(value)); }

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return new (std::nothrow) aclDataBuffer{data, size};
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return entry("aclDestroyDataBuffer", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(dataBuffer, "dataBuffer"));
    delete dataBuffer;
    return {};
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return entry("aclUpdateDataBuffer", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(dataBuffer, "dataBuffer"));
    *dataBuffer = {data, size};
    return {};
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return dataBuffer == nullptr ? nullptr : dataBuffer->data;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return dataBuffer == nullptr ? 0 : static_cast<uint32_t>(dataBuffer->size);
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return dataBuffer == nullptr ? 0 : dataBuffer->size;
}

}  // extern "C"
