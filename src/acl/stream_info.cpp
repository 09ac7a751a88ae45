// SPDX-License-Identifier: Apache-2.0
// What streams and events are: numbers, priorities, flags, and how many more there can be.
#include "acl/acl_rt_event.h"
#include "acl/acl_rt_stream.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::EventId;
using plat::stream::StreamId;

namespace {

constexpr int32_t kPriorityLowest = 7;
constexpr int32_t kPriorityHighest = 0;

// A stream of whichever context, for calls that need a context all the same. The handle is looked at first.
Result<stream::Streams::StreamInfo> info_in_context(const Runtime& runtime, aclrtStream stream) {
  PLAT_ASSIGN(info, runtime.streams.info(stream::id_of<StreamId>(stream)));
  PLAT_TRY(runtime.streams.current_context());
  return info;
}

}  // namespace

extern "C" {

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return entry("aclrtStreamGetId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(streamId, "streamId"));
    PLAT_ASSIGN(info, runtime.streams.info(stream::id_of<StreamId>(stream)));
    *streamId = static_cast<int32_t>(info.number);
    return {};
  });
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return entry("aclrtStreamGetPriority", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(priority, "priority"));
    PLAT_ASSIGN(info, info_in_context(runtime, stream));
    *priority = info.priority;
    return {};
  });
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  return entry("aclrtStreamGetFlags", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(flags, "flags"));
    PLAT_ASSIGN(info, info_in_context(runtime, stream));
    *flags = info.flags;
    return {};
  });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  return entry("aclrtDeviceGetStreamPriorityRange", [&](Runtime&) -> Result<> {
    if (leastPriority != nullptr) *leastPriority = kPriorityLowest;
    if (greatestPriority != nullptr) *greatestPriority = kPriorityHighest;
    return {};
  });
}

aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  return entry("aclrtGetStreamAvailableNum", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(streamCount, "streamCount"));
    PLAT_ASSIGN(count, runtime.streams.streams_available());
    *streamCount = count;
    return {};
  });
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t* eventId) {
  return entry("aclrtGetEventId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    PLAT_TRY(want(eventId, "eventId"));
    PLAT_ASSIGN(number, runtime.streams.event_number(stream::id_of<EventId>(event)));
    *eventId = number;
    return {};
  });
}

aclError aclrtGetEventAvailNum(uint32_t* eventCount) {
  return entry("aclrtGetEventAvailNum", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(eventCount, "eventCount"));
    PLAT_ASSIGN(count, runtime.streams.events_available());
    *eventCount = count;
    return {};
  });
}

}  // extern "C"
