// SPDX-License-Identifier: Apache-2.0
// Streams: their lives and who is told of them, waiting for them and in them, and what they are.
#include <cstring>
#include <memory>
#include <new>

#include "acl/acl_rt_stream.h"
#include "acl/current.h"
#include "acl/entry.h"
#include "stream/streams.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::EventId;
using plat::stream::Remaining;
using plat::stream::StreamId;

namespace {

Result<> want_config(const Runtime& runtime, const void* handle) {
  PLAT_TRY(want(handle, "handle"));
  if (!runtime.stream_configs.has(handle))
    return fail(RuleId::StreamConfig, "handle", "{} is no live configuration", fmt::ptr(handle));
  return {};
}

template <class T>
Result<> assign(T& field, const void* value, size_t size_bytes) {
  if (size_bytes != sizeof(T))
    return fail(RuleId::StreamConfig, "valueSize", "valueSize is {}, the attribute has {} bytes", size_bytes,
                sizeof(T));
  std::memcpy(&field, value, sizeof(T));
  return {};
}

Result<> create(Runtime& runtime, aclrtStream* stream, uint32_t priority, uint32_t flags) {
  PLAT_ASSIGN(id, runtime.streams.create_stream(priority, flags));
  *stream = handle_of(id);
  return {};
}

Result<> destroy(Runtime& runtime, aclrtStream stream, Remaining remaining) {
  PLAT_TRY(want(stream, "stream"));
  return runtime.streams.destroy_stream(stream::id_of<StreamId>(stream), remaining);
}

// A stream of whichever context, for calls that need a context all the same. The handle is looked at first.
Result<std::shared_ptr<stream::Stream>> in_context(const Runtime& runtime, aclrtStream stream) {
  PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
  PLAT_TRY(runtime.streams.contexts().current_id());
  return found;
}

}  // namespace

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) {
  return entry("aclrtCreateStream", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stream, "stream"));
    return create(runtime, stream, 0, 0);
  });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return entry("aclrtCreateStreamWithConfig", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stream, "stream"));
    return create(runtime, stream, priority, flag);
  });
}

aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  return entry("aclrtCreateStreamV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stream, "stream"));
    PLAT_TRY(want_config(runtime, handle));
    return create(runtime, stream, handle->priority, static_cast<uint32_t>(handle->flag));
  });
}

aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle() {
  aclrtStreamConfigHandle* handle = nullptr;
  entry("aclrtCreateStreamConfigHandle", [&](Runtime& runtime) -> Result<> {
    auto made = std::make_unique<aclrtStreamConfigHandle>();
    runtime.stream_configs.add(made.get());
    handle = made.release();
    return {};
  });
  return handle;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                                 const void* attrValue, size_t valueSize) {
  return entry("aclrtSetStreamConfigOpt", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want_config(runtime, handle));
    PLAT_TRY(want(attrValue, "attrValue"));
    switch (attr) {
      case ACL_RT_STREAM_WORK_ADDR_PTR:
        return assign(handle->workptr, attrValue, valueSize);
      case ACL_RT_STREAM_WORK_SIZE:
        return assign(handle->workSize, attrValue, valueSize);
      case ACL_RT_STREAM_FLAG:
        return assign(handle->flag, attrValue, valueSize);
      case ACL_RT_STREAM_PRIORITY:
        return assign(handle->priority, attrValue, valueSize);
    }
    return fail(RuleId::ArgEnum, "attr", "attr is {}", static_cast<int>(attr));
  });
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  return entry("aclrtDestroyStreamConfigHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want_config(runtime, handle));
    if (runtime.stream_configs.remove(handle)) delete handle;
    return {};
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return entry("aclrtDestroyStream",
               [&](Runtime& runtime) { return destroy(runtime, stream, Remaining::Finish); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return entry("aclrtDestroyStreamForce",
               [&](Runtime& runtime) { return destroy(runtime, stream, Remaining::Discard); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return entry("aclrtSynchronizeStream", [&](Runtime& runtime) {
    return acl::settled(runtime, runtime.streams.synchronize(stream::id_of<StreamId>(stream)));
  });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return entry("aclrtSynchronizeStreamWithTimeout", [&](Runtime& runtime) {
    return acl::settled(runtime, runtime.streams.synchronize(stream::id_of<StreamId>(stream), timeout));
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return entry("aclrtStreamQuery", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(status, "status"));
    PLAT_ASSIGN(complete, runtime.streams.is_complete(stream::id_of<StreamId>(stream)));
    *status = complete ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return {};
  });
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return entry("aclrtSetStreamFailureMode", [&](Runtime& runtime) {
    return runtime.streams.set_failure_mode(stream::id_of<StreamId>(stream), mode);
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return entry("aclrtStreamWaitEvent", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    stream::Events& events = runtime.streams.events();
    return events.wait(stream::id_of<StreamId>(stream), stream::id_of<EventId>(event), events.wait_limit_s());
  });
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return entry("aclrtStreamWaitEventWithTimeout", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    return runtime.streams.events().wait(stream::id_of<StreamId>(stream), stream::id_of<EventId>(event),
                                         timeout);
  });
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag) {
  return entry("aclrtStreamWaitEventWithFlag", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    if (flag > ACL_EVENT_WAIT_EXTERNAL)
      return fail(RuleId::ArgReserved, "flag", "flag is {}, only 0 and 1 are known", flag);
    if (flag == ACL_EVENT_WAIT_EXTERNAL && timeout != 0)
      return fail(RuleId::ArgReserved, "timeout", "timeout is {}, an external wait has none", timeout);
    PLAT_TRY(runtime.streams.events().number(stream::id_of<EventId>(event)));
    PLAT_TRY(acl::want_event_flags(runtime));
    if (flag == ACL_EVENT_WAIT_EXTERNAL)
      return fail(RuleId::CaptureOnly, "flag", "flag is {}, and the stream is not captured", flag);
    return runtime.streams.events().wait(stream::id_of<StreamId>(stream), stream::id_of<EventId>(event),
                                         timeout);
  });
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return entry("aclrtStreamGetId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(streamId, "streamId"));
    PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
    *streamId = static_cast<int32_t>(stream::Streams::number_of(found->traits().id));
    return {};
  });
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return entry("aclrtStreamGetPriority", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(priority, "priority"));
    PLAT_ASSIGN(found, in_context(runtime, stream));
    *priority = found->settings().priority();
    return {};
  });
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  return entry("aclrtStreamGetFlags", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(flags, "flags"));
    PLAT_ASSIGN(found, in_context(runtime, stream));
    *flags = found->traits().flags;
    return {};
  });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  return entry("aclrtDeviceGetStreamPriorityRange", [&](Runtime&) -> Result<> {
    if (leastPriority != nullptr) *leastPriority = int32_t{stream::kPriorityLowest};
    if (greatestPriority != nullptr) *greatestPriority = int32_t{stream::kPriorityHighest};
    return {};
  });
}

aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  return entry("aclrtGetStreamAvailableNum", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(streamCount, "streamCount"));
    PLAT_ASSIGN(count, runtime.streams.available());
    *streamCount = count;
    return {};
  });
}

aclError aclrtRegStreamStateCallback(const char* regName, aclrtStreamStateCallback callback, void* args) {
  return entry("aclrtRegStreamStateCallback", [&](Runtime& runtime) -> Result<> {
    return runtime.stream_callbacks.set(regName, callback, args);
  });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return entry("aclrtSetOpWaitTimeout", [&](Runtime& runtime) -> Result<> {
    if (!device::has_wait_limit(runtime.node.product()))
      return fail(RuleId::ProductSupport, "", "{} limits no waits", runtime.node.product().soc_name);
    runtime.streams.events().set_wait_limit(timeout);
    return {};
  });
}

}  // extern "C"
