// SPDX-License-Identifier: Apache-2.0
// Elements and buffers: arithmetic and plain records, which need no device.
#include "acl/acl_data.h"

#include <memory>

#include "acl/entry.h"
#include "base/half.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

struct aclDataBuffer {
  void* data;
  size_t size;
};

namespace {

Error stale(const aclDataBuffer* buffer) {
  return {RuleId::DataBuffer, "dataBuffer", fmt::format("{} is no live data buffer", fmt::ptr(buffer))};
}

// What a live buffer holds; nothing, and a message, for one that was destroyed.
aclDataBuffer read(const char* function, const aclDataBuffer* buffer) {
  aclDataBuffer held{};
  if (buffer == nullptr) return held;
  entry(function, [&](Runtime& runtime) -> Result<> {
    if (!runtime.data_buffers.with(buffer, [&] { held = *buffer; })) return forward(stale(buffer));
    return {};
  });
  return held;
}

}  // namespace

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

float aclFloat16ToFloat(aclFloat16 value) { return float_of_half(value); }

aclFloat16 aclFloatToFloat16(float value) { return half_of_float(value); }

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* buffer = nullptr;
  entry("aclCreateDataBuffer", [&](Runtime& runtime) -> Result<> {
    auto made = std::make_unique<aclDataBuffer>(aclDataBuffer{data, size});
    runtime.data_buffers.add(made.get());
    buffer = made.release();
    return {};
  });
  return buffer;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return entry("aclDestroyDataBuffer", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(dataBuffer, "dataBuffer"));
    if (!runtime.data_buffers.remove(dataBuffer)) return forward(stale(dataBuffer));
    delete dataBuffer;
    return {};
  });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return entry("aclUpdateDataBuffer", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(dataBuffer, "dataBuffer"));
    if (!runtime.data_buffers.with(dataBuffer, [&] { *dataBuffer = {data, size}; }))
      return forward(stale(dataBuffer));
    return {};
  });
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  return read("aclGetDataBufferAddr", dataBuffer).data;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(read("aclGetDataBufferSize", dataBuffer).size);
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  return read("aclGetDataBufferSizeV2", dataBuffer).size;
}

}  // extern "C"
