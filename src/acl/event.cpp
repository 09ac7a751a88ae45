// SPDX-License-Identifier: Apache-2.0
// Events.
#include "acl/acl_rt_event.h"

#include "acl/current.h"
#include "acl/entry.h"
#include "stream/streams.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::EventId;
using plat::stream::EventKind;
using plat::stream::StreamId;

namespace {

Result<> create(Runtime& runtime, aclrtEvent* event, EventKind kind, uint32_t flags) {
  PLAT_TRY(want(event, "event"));
  if (flags == ACL_EVENT_IPC && kind == EventKind::Extended && !runtime.node.product().ipc_events)
    return fail(RuleId::ProductSupport, "flag", "{} has no events between processes",
                runtime.node.product().soc_name);
  PLAT_ASSIGN(id, runtime.streams.events().create(kind, flags));
  *event = handle_of(id);
  return {};
}

}  // namespace

extern "C" {

aclError aclrtCreateEvent(aclrtEvent* event) {
  return entry("aclrtCreateEvent",
               [&](Runtime& runtime) { return create(runtime, event, EventKind::Plain, 0); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return entry("aclrtCreateEventWithFlag",
               [&](Runtime& runtime) { return create(runtime, event, EventKind::Flagged, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return entry("aclrtCreateEventExWithFlag",
               [&](Runtime& runtime) { return create(runtime, event, EventKind::Extended, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return entry("aclrtDestroyEvent", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    return runtime.streams.events().destroy(stream::id_of<EventId>(event));
  });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return entry("aclrtRecordEvent", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    return runtime.streams.events().record(stream::id_of<EventId>(event), stream::id_of<StreamId>(stream));
  });
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
  return entry("aclrtRecordEventWithFlag", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    if (flag > ACL_EVENT_RECORD_EXTERNAL)
      return fail(RuleId::ArgReserved, "flag", "flag is {}, only 0 and 1 are known", flag);
    PLAT_TRY(runtime.streams.events().choose_record_flag(stream::id_of<EventId>(event), flag));
    PLAT_TRY(acl::want_event_flags(runtime));
    if (flag == ACL_EVENT_RECORD_EXTERNAL)
      return fail(RuleId::CaptureOnly, "flag", "flag is {}, and the stream is not captured", flag);
    return runtime.streams.events().record(stream::id_of<EventId>(event), stream::id_of<StreamId>(stream));
  });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return entry("aclrtResetEvent", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    return runtime.streams.events().reset(stream::id_of<EventId>(event), stream::id_of<StreamId>(stream));
  });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return entry("aclrtQueryEvent", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    PLAT_TRY(want(status, "status"));
    PLAT_ASSIGN(complete, runtime.streams.events().query(stream::id_of<EventId>(event)));
    *status = complete ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return {};
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return entry("aclrtQueryEventStatus", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    PLAT_TRY(want(status, "status"));
    PLAT_ASSIGN(complete, runtime.streams.events().query_status(stream::id_of<EventId>(event)));
    *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return {};
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return entry("aclrtQueryEventWaitStatus", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    PLAT_TRY(want(status, "status"));
    PLAT_ASSIGN(complete, runtime.streams.events().query_waits(stream::id_of<EventId>(event)));
    *status = complete ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return {};
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return entry("aclrtSynchronizeEvent", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    return runtime.streams.events().synchronize(stream::id_of<EventId>(event));
  });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return entry("aclrtSynchronizeEventWithTimeout", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    return runtime.streams.events().synchronize(stream::id_of<EventId>(event), timeout);
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return entry("aclrtEventElapsedTime", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ms, "ms"));
    PLAT_TRY(want(startEvent, "startEvent"));
    PLAT_TRY(want(endEvent, "endEvent"));
    PLAT_ASSIGN(elapsed, runtime.streams.events().elapsed_ms(stream::id_of<EventId>(startEvent),
                                                             stream::id_of<EventId>(endEvent)));
    *ms = elapsed;
    return {};
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return entry("aclrtEventGetTimestamp", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(timestamp, "timestamp"));
    PLAT_TRY(want(event, "event"));
    PLAT_ASSIGN(time_us, runtime.streams.events().timestamp_us(stream::id_of<EventId>(event)));
    *timestamp = time_us;
    return {};
  });
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t* eventId) {
  return entry("aclrtGetEventId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    PLAT_TRY(want(eventId, "eventId"));
    PLAT_ASSIGN(number, runtime.streams.events().number(stream::id_of<EventId>(event)));
    *eventId = number;
    return {};
  });
}

aclError aclrtGetEventAvailNum(uint32_t* eventCount) {
  return entry("aclrtGetEventAvailNum", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(eventCount, "eventCount"));
    PLAT_ASSIGN(count, runtime.streams.events().available());
    *eventCount = count;
    return {};
  });
}

}  // extern "C"
