// SPDX-License-Identifier: Apache-2.0
// Work that is cut short, and who is told of it.
#include "acl/acl_rt_device_state.h"
#include "acl/acl_rt_stream.h"
#include "acl/entry.h"
#include "os/thread_sanitizer.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::stream::StreamId;

namespace {

Result<> want_scheduler(const Runtime& runtime, const char* what) {
  if (runtime.node.product().hardware_scheduler) return {};
  return fail(RuleId::ProductSupport, "", "{} cannot {}", runtime.node.product().soc_name, what);
}

Result<> tell_of_abort(const Runtime& runtime, int32_t id, aclrtDeviceTaskAbortStage stage,
                       uint32_t timeout) {
  for (const auto& callback : runtime.abort_callbacks.all()) {
    const os::tsan::Watched watched;
    const int32_t returned = callback.function(id, stage, timeout, callback.argument);
    if (returned != 0)
      return fail(RuleId::AbortCallback, "regName", "'{}' returned {} {} the tasks were aborted",
                  callback.name, returned, stage == ACL_RT_DEVICE_TASK_ABORT_PRE ? "before" : "after");
  }
  return {};
}

}  // namespace

extern "C" {

aclError aclrtStreamAbort(aclrtStream stream) {
  return entry("aclrtStreamAbort", [&](Runtime& runtime) -> Result<> {
    const auto id = stream::id_of<StreamId>(stream);
    if (!runtime.node.product().hardware_scheduler) {
      if (id.value != 0 || runtime.streams.contexts().current_id()) PLAT_TRY(runtime.streams.find_stream(id));
      PLAT_TRY(want_scheduler(runtime, "abort streams"));
    }
    return runtime.streams.abort_stream(id);
  });
}

aclError aclrtStreamStop(aclrtStream stream) {
  return entry("aclrtStreamStop", [&](Runtime& runtime) -> Result<> {
    const auto id = stream::id_of<StreamId>(stream);
    if (id.value == 0) return fail(RuleId::StreamNull, "stream", "stream is null");
    PLAT_TRY(runtime.streams.any_stream(id));
    PLAT_TRY(runtime.streams.contexts().current_id());
    PLAT_TRY(want_scheduler(runtime, "stop streams"));
    return runtime.streams.stop_stream(id);
  });
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  return entry("aclrtDeviceTaskAbort", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    if (!runtime.node.product().device_services)
      return fail(RuleId::ProductSupport, "", "{} cannot abort the tasks of a device",
                  runtime.node.product().soc_name);
    PLAT_TRY(tell_of_abort(runtime, deviceId, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout));
    PLAT_TRY(runtime.streams.abort_device(static_cast<int>(device), timeout));
    return tell_of_abort(runtime, deviceId, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
  });
}

aclError aclrtSetDeviceTaskAbortCallback(const char* regName, aclrtDeviceTaskAbortCallback callback,
                                         void* args) {
  return entry("aclrtSetDeviceTaskAbortCallback", [&](Runtime& runtime) -> Result<> {
    return runtime.abort_callbacks.set(regName, callback, args);
  });
}

}  // extern "C"
