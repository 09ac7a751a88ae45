// SPDX-License-Identifier: Apache-2.0
// Contexts.
#include "acl/acl_rt_context.h"
#include "acl/current.h"
#include "acl/entry.h"
#include "stream/streams.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::ContextId;

extern "C" {

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
    PLAT_ASSIGN(device, runtime.streams.contexts().device_of(id));
    PLAT_TRY(runtime.streams.destroy_context(id));
    acl::close_device(runtime, static_cast<uint32_t>(device));
    return {};
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return entry("aclrtSetCurrentContext", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(context, "context"));
    return runtime.streams.contexts().set_current(stream::id_of<ContextId>(context));
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return entry("aclrtGetCurrentContext", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(context, "context"));
    PLAT_ASSIGN(id, runtime.streams.contexts().current_id());
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

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return entry("aclrtGetPrimaryCtxState", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(active, "active"));
    if (flags != nullptr)
      return fail(RuleId::ArgReserved, "flags", "flags is {}, only null is known", fmt::ptr(flags));
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    *active = runtime.streams.contexts().is_set(static_cast<int>(device)) ? 1 : 0;
    return {};
  });
}

}  // extern "C"
