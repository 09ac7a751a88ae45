// SPDX-License-Identifier: Apache-2.0
// Limits of devices and streams.
#include "acl/acl_rt_device_limit.h"

#include "acl/current.h"
#include "acl/entry.h"
#include "stream/core_choice.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::device::Core;
using plat::stream::StreamId;

namespace {

Result<device::Limit> limit_of(const Runtime& runtime, aclrtDeviceLimit limit) {
  if (static_cast<unsigned>(limit) >= device::kLimits)
    return fail(RuleId::ArgEnum, "limit", "limit is {}", static_cast<int>(limit));
  PLAT_TRY(runtime.node.physical_id(0, "deviceId"));  // limits are the process's, and need some device
  return static_cast<device::Limit>(limit);
}

Result<Core> core_of(aclrtDevResLimitType type) {
  if (static_cast<unsigned>(type) < device::kCores) return static_cast<Core>(type);
  return fail(RuleId::CoreType, "type", "type is {}", static_cast<int>(type));
}

Result<uint32_t> want_open(const Runtime& runtime, int32_t id) {
  PLAT_ASSIGN(device, runtime.node.physical_id(id, "deviceId"));
  if (runtime.node.is_open(device)) return device;
  return fail(RuleId::CoreDevice, "deviceId", "device {} is not set in this process", id);
}

Result<> want_id(int32_t id) {
  if (id >= 0) return {};
  return fail(RuleId::DeviceId, "deviceId", "deviceId is {}", id);
}

// A stream of whichever context, and how many cores it may use.
Result<uint32_t> cores_of(const Runtime& runtime, const stream::Stream& stream, Core core) {
  if (const auto set = stream.settings().cores(static_cast<size_t>(core))) return *set;
  return runtime.limits.cores(static_cast<uint32_t>(stream.traits().device), core);
}

}  // namespace

extern "C" {

aclError aclrtDeviceSetLimit(aclrtDeviceLimit limit, size_t value) {
  return entry("aclrtDeviceSetLimit", [&](Runtime& runtime) -> Result<> {
    if (value > UINT32_MAX) return fail(RuleId::ArgReserved, "value", "value is {}", value);
    PLAT_ASSIGN(which, limit_of(runtime, limit));
    return runtime.limits.set(which, static_cast<uint32_t>(value));
  });
}

aclError aclrtDeviceGetLimit(aclrtDeviceLimit limit, size_t* value) {
  return entry("aclrtDeviceGetLimit", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_ASSIGN(which, limit_of(runtime, limit));
    PLAT_ASSIGN(number, runtime.limits.get(which));
    *value = number;
    return {};
  });
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return entry("aclrtGetDeviceResLimit", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_TRY(want_id(deviceId));
    PLAT_ASSIGN(core, core_of(type));
    PLAT_ASSIGN(device, want_open(runtime, deviceId));
    PLAT_ASSIGN(number, runtime.limits.cores(device, core));
    *value = number;
    return {};
  });
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return entry("aclrtSetDeviceResLimit", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want_id(deviceId));
    PLAT_ASSIGN(core, core_of(type));
    PLAT_ASSIGN(device, want_open(runtime, deviceId));
    return runtime.limits.set_cores(device, core, value);
  });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return entry("aclrtResetDeviceResLimit", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, want_open(runtime, deviceId));
    runtime.limits.reset_cores(device);
    return {};
  });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  return entry("aclrtGetStreamResLimit", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
    PLAT_ASSIGN(core, core_of(type));
    PLAT_ASSIGN(number, cores_of(runtime, *found, core));
    *value = number;
    return {};
  });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return entry("aclrtSetStreamResLimit", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
    PLAT_ASSIGN(core, core_of(type));
    PLAT_TRY(runtime.limits.check_cores(core, value));
    found->settings().set_cores(static_cast<size_t>(core), value);
    return {};
  });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return entry("aclrtResetStreamResLimit", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
    found->settings().reset_cores();
    return {};
  });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return entry("aclrtUseStreamResInCurrentThread", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
    stream::choose_cores_of({runtime.streams.contexts().serial(), found->traits().id});
    return {};
  });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return entry("aclrtUnuseStreamResInCurrentThread", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
    if (stream::chosen_for_cores(runtime.streams.contexts().serial()) == found->traits().id)
      stream::choose_cores_of({});
    return {};
  });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return entry("aclrtGetResInCurrentThread", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_ASSIGN(core, core_of(type));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    const StreamId chosen = stream::chosen_for_cores(runtime.streams.contexts().serial());
    if (const auto stream = runtime.streams.any_stream(chosen); chosen.value != 0 && stream) {
      if (const auto set = (*stream)->settings().cores(static_cast<size_t>(core))) {
        *value = *set;
        return {};
      }
    }
    PLAT_ASSIGN(number, runtime.limits.cores(device, core));
    *value = number;
    return {};
  });
}

}  // extern "C"
