// SPDX-License-Identifier: Apache-2.0
// Streams.
#include <cstring>
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
    handle = new aclrtStreamConfigHandle{};
    runtime.stream_configs.add(handle);
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
    return runtime.streams.events().wait(stream::id_of<StreamId>(stream), stream::id_of<EventId>(event));
  });
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return entry("aclrtStreamWaitEventWithTimeout", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    return runtime.streams.events().wait(stream::id_of<StreamId>(stream), stream::id_of<EventId>(event),
                                         timeout);
  });
}

}  // extern "C"
