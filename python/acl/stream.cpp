// SPDX-License-Identifier: Apache-2.0
// Streams and events. Where a stream is asked for, 0 is the default one.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

int set_config(uint64_t handle, int32_t attr, uint64_t value) {
  const auto priority = static_cast<uint32_t>(value);
  const bool narrow = attr == ACL_RT_STREAM_PRIORITY;
  if (narrow && priority != value) throw py::value_error("the priority is " + std::to_string(value));
  return unlocked([&] {
    return aclrtSetStreamConfigOpt(
        to_c<aclrtStreamConfigHandle*>(handle), static_cast<aclrtStreamConfigAttr>(attr),
        narrow ? static_cast<const void*>(&priority) : &value, narrow ? sizeof(priority) : sizeof(value));
  });
}

}  // namespace

void add_stream_config(Group& rt) {
  const auto handle = "handle"_a;
  rt.def(
      "create_stream_config_handle", [] { return to_python(aclrtCreateStreamConfigHandle()); },
      ReleaseIfWanted(), "handle: an empty stream configuration, or 0.");
  rt.def("set_stream_config_opt", set_config, handle, "attr"_a, "value"_a,
         "Sets an attribute (ACL_RT_STREAM_*) of a stream configuration.");
  rt.def("destroy_stream_config_handle", Ret<aclrtDestroyStreamConfigHandle>::call, handle, Release(),
         "Frees a stream configuration.");
  rt.def("create_stream_v2", First<aclrtCreateStreamV2>::call, handle, Release(),
         "(stream, ret): a stream as a configuration says.");
}

void add_stream(Group& rt) {
  const auto stream = "stream"_a;
  rt.def("create_stream", First<aclrtCreateStream>::call, Release(), "(stream, ret): a new stream.");
  rt.def("create_stream_with_config", First<aclrtCreateStreamWithConfig>::call, "priority"_a, "flag"_a,
         Release(), "(stream, ret): a stream with a priority of 0 (highest) to 7 and ACL_STREAM_* flags.");
  rt.def("destroy_stream", Ret<aclrtDestroyStream>::call, stream, Release(),
         "Waits for the stream's work and destroys it.");
  rt.def("destroy_stream_force", Ret<aclrtDestroyStreamForce>::call, stream, Release(),
         "Destroys the stream and discards what it has not started.");
  rt.def("synchronize_stream", Ret<aclrtSynchronizeStream>::call, stream, Release(),
         "Waits for all work queued so far; returns the code of a task that failed.");
  rt.def("synchronize_stream_with_timeout", Ret<aclrtSynchronizeStreamWithTimeout>::call, stream, "timeout"_a,
         Release(),
         "The same for at most so many milliseconds (-1: for ever); 507046 when they have passed.");
  rt.def("stream_query", Last<aclrtStreamQuery>::call, stream, ReleaseIfWanted(),
         "(status, ret): 0 when all queued work has completed, 1 while it has not.");
  rt.def("set_stream_failure_mode", Ret<aclrtSetStreamFailureMode>::call, stream, "mode"_a, Release(),
         "What the stream does after a task failed: 0 goes on, 1 stops.");
  rt.def("stream_wait_event", Ret<aclrtStreamWaitEvent>::call, stream, "event"_a, ReleaseIfWanted(),
         "Makes later work of the stream wait for what the event recorded.");
  rt.def("set_op_wait_timeout", Ret<aclrtSetOpWaitTimeout>::call, "timeout"_a, Release(),
         "How long stream_wait_event waits from now on, in seconds (0: for ever).");
  rt.def("stream_wait_event_with_timeout", Ret<aclrtStreamWaitEventWithTimeout>::call, stream, "event"_a,
         "timeout"_a, Release(),
         "The same for at most so many seconds (0: for ever); the stream then fails.");
}

void add_event(Group& rt) {
  const auto event = "event"_a;
  rt.def("create_event", First<aclrtCreateEvent>::call, Release(),
         "(event, ret): an event to wait on and measure with.");
  rt.def("create_event_with_flag", First<aclrtCreateEventWithFlag>::call, "flag"_a, Release(),
         "(event, ret): an event for the uses that its ACL_EVENT_* flags name.");
  rt.def("create_event_ex_with_flag", First<aclrtCreateEventExWithFlag>::call, "flag"_a, Release(),
         "(event, ret): the same, to be recorded again at any time.");
  rt.def("destroy_event", Ret<aclrtDestroyEvent>::call, event, Release(),
         "Destroys an event, without waiting.");
  rt.def("record_event", Ret<aclrtRecordEvent>::call, event, "stream"_a, ReleaseIfWanted(),
         "Marks the work that the stream has been given so far.");
  rt.def("reset_event", Ret<aclrtResetEvent>::call, event, "stream"_a, Release(),
         "Returns the event to its first state, in stream order.");
  rt.def("query_event", Last<aclrtQueryEvent>::call, event, ReleaseIfWanted(),
         "(status, ret): 0 complete, 1 not ready. Older form of query_event_status.");
  rt.def("query_event_status", Last<aclrtQueryEventStatus>::call, event, ReleaseIfWanted(),
         "(status, ret): 1 complete, 0 not ready.");
  rt.def("query_event_wait_status", Last<aclrtQueryEventWaitStatus>::call, event, ReleaseIfWanted(),
         "(status, ret): 0 when all streams' waits for the event have completed, 1 while they have not.");
  rt.def("synchronize_event", Ret<aclrtSynchronizeEvent>::call, event, Release(),
         "Waits until the recorded work has completed.");
  rt.def("synchronize_event_with_timeout", Ret<aclrtSynchronizeEventWithTimeout>::call, event, "timeout"_a,
         Release(),
         "The same for at most so many milliseconds (-1: for ever); 507047 when they have passed.");
  rt.def("event_elapsed_time", First<aclrtEventElapsedTime>::call, "start_event"_a, "end_event"_a,
         ReleaseIfWanted(), "(milliseconds, ret) between two events.");
  rt.def("event_get_timestamp", Last<aclrtEventGetTimestamp>::call, event, ReleaseIfWanted(),
         "(microseconds, ret): when the event completed.");
}

}  // namespace plat::acl_python
