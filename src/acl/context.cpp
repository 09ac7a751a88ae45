// SPDX-License-Identifier: Apache-2.0
// Which device and context a thread uses.
#include "acl/acl_rt_context.h"
#include "acl/acl_rt_device.h"
#include "acl/entry.h"
#include "acl/regions.h"
#include "acl/use.h"
#include "stream/streams.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::ContextId;

namespace plat::acl {

namespace {

// The device, open and ready for a context.
Result<uint32_t> open_device(Runtime& runtime, int32_t id) {
  PLAT_ASSIGN(device, runtime.node.physical_id(id, "deviceId"));
  PLAT_TRY(runtime.node.bank(device));
  const device::Product& product = runtime.node.product();
  runtime.streams.set_limits(product.streams_max, product.events_max);
  runtime.node.set_open(device, true);
  listen_to_regions();
  return device;
}

void close_device(Runtime& runtime, uint32_t device) {
  if (!runtime.streams.uses_device(static_cast<int>(device))) runtime.node.set_open(device, false);
}

}  // namespace

}  // namespace plat::acl

extern "C" {

aclError aclrtSetDevice(int32_t deviceId) {
  return entry("aclrtSetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, acl::open_device(runtime, deviceId));
    return runtime.streams.set_device(static_cast<int>(device));
  });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return entry("aclrtResetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_TRY(runtime.streams.reset_device(static_cast<int>(device)));
    acl::close_device(runtime, device);
    return {};
  });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return entry("aclrtResetDeviceForce", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_TRY(runtime.streams.reset_device_force(static_cast<int>(device)));
    acl::release_memory(runtime, device, "aclrtResetDeviceForce");
    acl::close_device(runtime, device);
    return {};
  });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return entry("aclrtGetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(deviceId, "deviceId"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    *deviceId = runtime.node.logical_id(device);
    return {};
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return entry("aclrtCreateContext", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(context, "context"));
    PLAT_ASSIGN(device, acl::open_device(runtime, deviceId));
    PLAT_ASSIGN(id, runtime.streams.create_context(static_cast<int>(device)));
    *context = handle_of(id);
    return {};
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return entry("aclrtDestroyContext", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(context, "context"));
    const auto id = stream::id_of<ContextId>(context);
    PLAT_ASSIGN(device, runtime.streams.device_of(id));
    PLAT_TRY(runtime.streams.destroy_context(id));
    acl::close_device(runtime, static_cast<uint32_t>(device));
    return {};
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return entry("aclrtSetCurrentContext", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(context, "context"));
    return runtime.streams.set_current_context(stream::id_of<ContextId>(context));
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return entry("aclrtGetCurrentContext", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(context, "context"));
    PLAT_ASSIGN(id, runtime.streams.current_context());
    *context = handle_of(id);
    return {};
  });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return entry("aclrtCtxGetCurrentDefaultStream", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stream, "stream"));
    PLAT_ASSIGN(id, runtime.streams.default_stream());
    *stream = handle_of(id);
    return {};
  });
}

}  // extern "C"
