// Contexts, streams, events and callbacks: every rule broken and kept.
#include <pthread.h>

#include <thread>
#include <vector>

#include "rules/rule_test.h"

namespace plat::rule_test {
namespace {

aclrtStream make_stream(uint32_t flags = 0) {
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStreamWithConfig(&stream, 0, flags));
  return stream;
}
aclrtEvent make_event() {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEvent(&event));
  return event;
}
aclrtEvent make_event(uint32_t flags) {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEventWithFlag(&event, flags));
  return event;
}
aclrtEvent make_extended_event(uint32_t flags) {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEventExWithFlag(&event, flags));
  return event;
}

// A stream that does nothing until the signal is recorded.
struct Held {
  aclrtStream stream = make_stream();
  aclrtEvent signal = make_event(ACL_EVENT_SYNC);
  Held() { EXPECT_OK(aclrtStreamWaitEvent(stream, signal)); }
  void release() { EXPECT_OK(aclrtRecordEvent(signal, nullptr)); }
};

struct Device {
  Device() { EXPECT_OK(aclrtSetDevice(0)); }
};

void nothing(void*) {}
uint64_t self() { return static_cast<uint64_t>(pthread_self()); }

RULE_BROKEN(ContextHandle) {
  Device device;
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtCreateContext(&context, 0));
  EXPECT_OK(aclrtDestroyContext(context));
  EXPECT_BREAKS(aclrtDestroyContext(context));
  EXPECT_BREAKS(aclrtSetCurrentContext(context));
  EXPECT_BREAKS(aclrtSetCurrentContext(&context));
}
RULE_KEPT(ContextHandle) {
  Device device;
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtGetCurrentContext(&context));
  std::thread([&] { EXPECT_OK(aclrtSetCurrentContext(context)); }).join();
}

RULE_BROKEN(ContextDefault) {
  Device device;
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtGetCurrentContext(&context));
  EXPECT_BREAKS(aclrtDestroyContext(context));
}
RULE_KEPT(ContextDefault) {
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtCreateContext(&context, 1));
  EXPECT_OK(aclrtDestroyContext(context));
}

RULE_BROKEN(DeviceNotSet) {
  EXPECT_BREAKS(aclrtResetDevice(0));
  Device device;
  EXPECT_OK(aclrtResetDeviceForce(0));
  EXPECT_BREAKS(aclrtResetDeviceForce(0));
}
RULE_KEPT(DeviceNotSet) {
  Device once, twice;
  int32_t id = -1;
  EXPECT_OK(aclrtResetDevice(0));
  EXPECT_OK(aclrtGetDevice(&id));
  EXPECT_EQ(id, 0);
  EXPECT_OK(aclrtResetDevice(0));
}

RULE_BROKEN(StreamMode, {"PLAT_STREAMS", "sometimes"}) { EXPECT_BREAKS(aclrtSetDevice(0)); }
RULE_KEPT(StreamMode, {"PLAT_STREAMS", "seeded:5"}) {
  Device device;
  EXPECT_OK(aclrtLaunchHostFunc(nullptr, nothing, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

RULE_BROKEN(StreamHandle) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_BREAKS(aclrtDestroyStream(stream));
  EXPECT_BREAKS(aclrtDestroyStreamForce(stream));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
  EXPECT_BREAKS(aclrtSynchronizeStream(&stream));
  EXPECT_BREAKS(aclrtLaunchHostFunc(stream, nothing, nullptr));
}
RULE_KEPT(StreamHandle) {
  Device device;
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&stream));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtSynchronizeStream(make_stream()));
}

RULE_BROKEN(StreamContext) {
  Device device;
  aclrtStream stream = make_stream();
  aclrtStreamStatus status;
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
  EXPECT_BREAKS(aclrtStreamQuery(stream, &status));
  EXPECT_BREAKS(aclrtDestroyStream(stream));
}
RULE_KEPT(StreamContext) {
  Device device;
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtGetCurrentContext(&context));
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSetCurrentContext(context));
  EXPECT_OK(aclrtDestroyStream(stream));
}

RULE_BROKEN(StreamLimit) {
  Device device;
  for (int count = 1; count < 1984; ++count) make_stream();
  aclrtStream stream = nullptr;
  EXPECT_BREAKS(aclrtCreateStream(&stream));
}
RULE_KEPT(StreamLimit, {"PLAT_PRODUCT", "training"}) {
  Device device;
  for (int count = 1; count < 2048; ++count) make_stream();
}

RULE_BROKEN(StreamFlags) {
  Device device;
  aclrtStream stream = nullptr;
  EXPECT_BREAKS(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_DEVICE_USE_ONLY | ACL_STREAM_FAST_SYNC));
}
RULE_KEPT(StreamFlags) {
  Device device;
  make_stream(ACL_STREAM_DEVICE_USE_ONLY);
  make_stream(ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
}

RULE_BROKEN(StreamConfig) {
  Device device;
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  uint64_t priority = 3;
  EXPECT_BREAKS(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)));
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
  aclrtStream stream = nullptr;
  EXPECT_BREAKS(aclrtCreateStreamV2(&stream, config));
  EXPECT_BREAKS(aclrtDestroyStreamConfigHandle(config));
}
RULE_KEPT(StreamConfig) {
  Device device;
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  uint32_t priority = 3;
  size_t flags = ACL_STREAM_FAST_SYNC;
  EXPECT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)));
  EXPECT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flags, sizeof(flags)));
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStreamV2(&stream, config));
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
  EXPECT_OK(aclrtDestroyStream(stream));
}

RULE_BROKEN(StreamNoHostWork) {
  Device device;
  for (const uint32_t flags : {ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE, ACL_STREAM_DEVICE_USE_ONLY}) {
    aclrtStream stream = make_stream(flags);
    EXPECT_BREAKS(aclrtLaunchHostFunc(stream, nothing, nullptr));
    EXPECT_BREAKS(aclrtRecordEvent(make_event(), stream));
  }
}
RULE_KEPT(StreamNoHostWork) {
  Device device;
  EXPECT_OK(aclrtSynchronizeStream(make_stream(ACL_STREAM_PERSISTENT)));
  EXPECT_OK(aclrtLaunchHostFunc(make_stream(ACL_STREAM_HUGE), nothing, nullptr));
}

RULE_BROKEN(StreamDefault) {
  Device device;
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&stream));
  EXPECT_BREAKS(aclrtDestroyStream(stream));
}
RULE_KEPT(StreamDefault) {
  Device device;
  EXPECT_OK(aclrtDestroyStream(make_stream()));
}

RULE_BROKEN(StreamTimeoutValue) {
  Device device;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeStreamWithTimeout(nullptr, 0));
  EXPECT_BREAKS(aclrtSynchronizeDeviceWithTimeout(-2));
  EXPECT_BREAKS(aclrtSynchronizeEventWithTimeout(event, 0));
  EXPECT_BREAKS(aclrtStreamWaitEventWithTimeout(nullptr, event, -1));
}
RULE_KEPT(StreamTimeoutValue) {
  Device device;
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(nullptr, -1));
  EXPECT_OK(aclrtSynchronizeDeviceWithTimeout(1000));
  EXPECT_OK(aclrtStreamWaitEventWithTimeout(nullptr, make_event(), 0));
}

RULE_BROKEN(StreamSyncTimeout) {
  Device device;
  Held held;
  EXPECT_BREAKS(aclrtSynchronizeStreamWithTimeout(held.stream, 5));
  EXPECT_BREAKS(aclrtSynchronizeDeviceWithTimeout(5));
}
RULE_KEPT(StreamSyncTimeout) {
  Device device;
  Held held;
  held.release();
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(held.stream, 60000));
}

RULE_BROKEN(StreamWaitTimeout) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtStreamWaitEventWithTimeout(stream, make_event(ACL_EVENT_SYNC), 1));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
}
RULE_KEPT(StreamWaitTimeout) {
  Device device;
  aclrtStream stream = make_stream();
  aclrtEvent event = make_event(ACL_EVENT_SYNC);
  EXPECT_OK(aclrtStreamWaitEventWithTimeout(stream, event, 60));
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

struct SelfWait {
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  aclrtStream other = nullptr;
  SelfWait() {
    EXPECT_OK(aclrtGetCurrentContext(&context));
    stream = make_stream();
    other = make_stream();
  }
};
RULE_BROKEN(StreamSelfWait) {
  Device device;
  SelfWait call;
  auto function = [](void* at) {
    auto* self = static_cast<SelfWait*>(at);
    EXPECT_OK(aclrtSetCurrentContext(self->context));
    EXPECT_BREAKS(aclrtSynchronizeStream(self->stream));
    EXPECT_BREAKS(aclrtDestroyStream(self->stream));
  };
  EXPECT_OK(aclrtLaunchHostFunc(call.stream, function, &call));
  EXPECT_OK(aclrtSynchronizeStream(call.stream));
}
RULE_KEPT(StreamSelfWait) {
  Device device;
  SelfWait call;
  auto function = [](void* at) {
    auto* self = static_cast<SelfWait*>(at);
    EXPECT_OK(aclrtSetCurrentContext(self->context));
    EXPECT_OK(aclrtSynchronizeStream(self->other));
  };
  EXPECT_OK(aclrtLaunchHostFunc(call.stream, function, &call));
  EXPECT_OK(aclrtSynchronizeStream(call.stream));
}

RULE_BROKEN(StreamFailureMode) {
  Device device;
  EXPECT_BREAKS(aclrtSetStreamFailureMode(nullptr, 2));
}
RULE_KEPT(StreamFailureMode) {
  Device device;
  EXPECT_OK(aclrtSetStreamFailureMode(make_stream(), ACL_STOP_ON_FAILURE));
}

RULE_BROKEN(StreamFailureModeOnce) {
  Device device;
  EXPECT_OK(aclrtSetStreamFailureMode(make_stream(), ACL_STOP_ON_FAILURE));
  EXPECT_BREAKS(aclrtSetStreamFailureMode(nullptr, ACL_CONTINUE_ON_FAILURE));
}
RULE_KEPT(StreamFailureModeOnce) {
  Device device;
  EXPECT_OK(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE));
  EXPECT_OK(aclrtSetStreamFailureMode(make_stream(), ACL_STOP_ON_FAILURE));
}

RULE_BROKEN(EventHandle) {
  Device device;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_BREAKS(aclrtDestroyEvent(event));
  EXPECT_BREAKS(aclrtRecordEvent(event, nullptr));
  EXPECT_BREAKS(aclrtStreamWaitEvent(nullptr, event));
  EXPECT_BREAKS(aclrtSynchronizeEvent(&event));
}
RULE_KEPT(EventHandle) {
  Device device;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtStreamWaitEvent(make_stream(), event));
  EXPECT_OK(aclrtDestroyEvent(event));
}

RULE_BROKEN(EventLimit, {"PLAT_PRODUCT", "inference"}) {
  Device device;
  for (int count = 0; count < 1023; ++count) make_event();
  aclrtEvent event = nullptr;
  EXPECT_BREAKS(aclrtCreateEvent(&event));
  EXPECT_BREAKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
}
RULE_KEPT(EventLimit) {
  Device device;
  for (int count = 0; count < 65536; ++count) make_event();
  make_extended_event(ACL_EVENT_SYNC);
}

RULE_BROKEN(EventFlags) {
  Device device;
  aclrtEvent event = nullptr;
  EXPECT_BREAKS(aclrtCreateEventWithFlag(&event, 0));
  EXPECT_BREAKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC));
  EXPECT_BREAKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_DEVICE_USE_ONLY));
}
RULE_KEPT(EventFlags) {
  Device device;
  make_event(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE | ACL_EVENT_CAPTURE_STREAM_PROGRESS);
  make_event(ACL_EVENT_DEVICE_USE_ONLY);
  make_extended_event(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
}

RULE_BROKEN(EventFlagSupport) {
  Device device;
  aclrtEvent event = nullptr;
  EXPECT_BREAKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
  EXPECT_BREAKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
}
RULE_KEPT(EventFlagSupport) {
  Device device;
  make_extended_event(ACL_EVENT_SYNC);
}

RULE_BROKEN(EventDeviceOnly) {
  Device device;
  aclrtEvent event = make_event(ACL_EVENT_DEVICE_USE_ONLY);
  EXPECT_BREAKS(aclrtRecordEvent(event, nullptr));
  EXPECT_BREAKS(aclrtResetEvent(event, nullptr));
  EXPECT_BREAKS(aclrtStreamWaitEvent(nullptr, event));
}
RULE_KEPT(EventDeviceOnly) {
  Device device;
  EXPECT_OK(aclrtDestroyEvent(make_event(ACL_EVENT_DEVICE_USE_ONLY)));
}

RULE_BROKEN(EventWaitable) {
  Device device;
  EXPECT_BREAKS(aclrtStreamWaitEvent(nullptr, make_event(ACL_EVENT_TIME_LINE)));
  EXPECT_BREAKS(aclrtStreamWaitEvent(nullptr, make_extended_event(ACL_EVENT_TIME_LINE)));
}
RULE_KEPT(EventWaitable) {
  Device device;
  for (aclrtEvent event : {make_event(), make_event(ACL_EVENT_SYNC), make_extended_event(ACL_EVENT_SYNC)}) {
    EXPECT_OK(aclrtRecordEvent(event, nullptr));
    EXPECT_OK(aclrtStreamWaitEvent(make_stream(), event));
  }
}

RULE_BROKEN(EventResettable) {
  Device device;
  EXPECT_BREAKS(aclrtResetEvent(make_event(ACL_EVENT_TIME_LINE), nullptr));
  EXPECT_BREAKS(aclrtResetEvent(make_extended_event(ACL_EVENT_SYNC), nullptr));
}
RULE_KEPT(EventResettable) {
  Device device;
  EXPECT_OK(aclrtResetEvent(make_event(ACL_EVENT_SYNC), nullptr));
  EXPECT_OK(aclrtResetEvent(make_event(), nullptr));
}

RULE_BROKEN(EventQueryable) {
  Device device;
  aclrtEventStatus status;
  aclrtEventWaitStatus waits;
  EXPECT_BREAKS(aclrtQueryEvent(make_extended_event(ACL_EVENT_SYNC), &status));
  EXPECT_BREAKS(aclrtQueryEventWaitStatus(make_extended_event(ACL_EVENT_SYNC), &waits));
  EXPECT_BREAKS(aclrtQueryEventWaitStatus(make_event(ACL_EVENT_TIME_LINE), &waits));
}
RULE_KEPT(EventQueryable) {
  Device device;
  aclrtEventStatus status;
  aclrtEventRecordedStatus recorded;
  aclrtEventWaitStatus waits;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, ACL_EVENT_STATUS_NOT_READY);
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtQueryEvent(event, &status));
  EXPECT_EQ(status, ACL_EVENT_STATUS_COMPLETE);
  EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
  EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_OK(aclrtQueryEventWaitStatus(event, &waits));
  EXPECT_EQ(waits, ACL_EVENT_WAIT_STATUS_COMPLETE);
  EXPECT_OK(aclrtQueryEventStatus(make_extended_event(ACL_EVENT_SYNC), &recorded));
  EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

RULE_BROKEN(EventNotRecorded) {
  Device device;
  EXPECT_BREAKS(aclrtSynchronizeEvent(make_event()));
}
RULE_KEPT(EventNotRecorded) {
  Device device;
  EXPECT_OK(aclrtSynchronizeEvent(make_extended_event(ACL_EVENT_SYNC)));
}

RULE_BROKEN(EventSyncTimeout) {
  Device device;
  Held held;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, held.stream));
  EXPECT_BREAKS(aclrtSynchronizeEventWithTimeout(event, 5));
}
RULE_KEPT(EventSyncTimeout) {
  Device device;
  Held held;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, held.stream));
  held.release();
  EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, 60000));
}

RULE_BROKEN(EventTime) {
  Device device;
  float ms = 0;
  uint64_t time = 0;
  aclrtEvent event = make_event(ACL_EVENT_SYNC);
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_BREAKS(aclrtEventElapsedTime(&ms, event, event));
  EXPECT_BREAKS(aclrtEventGetTimestamp(make_event(), &time));
}
RULE_KEPT(EventTime) {
  Device device;
  float ms = -1;
  uint64_t time = 0;
  aclrtEvent start = make_event();
  aclrtEvent end = make_event(ACL_EVENT_TIME_LINE);
  EXPECT_OK(aclrtRecordEvent(start, nullptr));
  EXPECT_OK(aclrtRecordEvent(end, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 0.0F);
  EXPECT_OK(aclrtEventGetTimestamp(end, &time));
  EXPECT_GT(time, 0U);
}

RULE_BROKEN(EventTimeOrder) {
  Device device;
  float ms = 0;
  aclrtEvent start = make_event();
  aclrtEvent end = make_event();
  EXPECT_OK(aclrtRecordEvent(end, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtRecordEvent(start, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_BREAKS(aclrtEventElapsedTime(&ms, start, end));
}
RULE_KEPT(EventTimeOrder) {
  Device device;
  float ms = -1;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtEventElapsedTime(&ms, event, event));
  EXPECT_EQ(ms, 0.0F);
}

RULE_BROKEN(CallbackFunction) {
  Device device;
  EXPECT_BREAKS(aclrtLaunchHostFunc(nullptr, nullptr, nullptr));
  EXPECT_BREAKS(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, nullptr));
}
RULE_KEPT(CallbackFunction) {
  Device device;
  EXPECT_OK(aclrtLaunchHostFunc(nullptr, nothing, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

RULE_BROKEN(CallbackUnserved) {
  Device device;
  EXPECT_BREAKS(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, make_stream()));
}
RULE_KEPT(CallbackUnserved) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(60000));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

RULE_BROKEN(CallbackLost) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
  EXPECT_OK(aclrtUnSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
}
RULE_KEPT(CallbackLost) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(60000));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtUnSubscribeReport(self(), stream));
}

RULE_BROKEN(SubscribeTwice) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtSubscribeReport(self() + 1, stream));
}
RULE_KEPT(SubscribeTwice) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
}

RULE_BROKEN(SubscribeDevice) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_BREAKS(aclrtSubscribeReport(self(), make_stream()));
}
RULE_KEPT(SubscribeDevice) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSubscribeReport(self() + 1, make_stream()));
}

RULE_BROKEN(SubscribeLimit) {
  Device device;
  for (uint64_t thread = 1; thread <= 1024; ++thread) EXPECT_OK(aclrtSubscribeReport(thread, make_stream()));
  EXPECT_BREAKS(aclrtSubscribeReport(5000, make_stream()));
}
RULE_KEPT(SubscribeLimit) {
  Device device;
  for (int count = 0; count < 1100; ++count) EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
}

RULE_BROKEN(SubscribeMissing) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_BREAKS(aclrtUnSubscribeReport(self(), stream));
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtUnSubscribeReport(self() + 1, stream));
}
RULE_KEPT(SubscribeMissing) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtUnSubscribeReport(self(), stream));
}

RULE_BROKEN(ReportTimeoutValue) {
  EXPECT_BREAKS(aclrtProcessReport(0));
  EXPECT_BREAKS(aclrtProcessReport(-2));
}
RULE_KEPT(ReportTimeoutValue) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(-1));
}

RULE_BROKEN(ReportThread) { EXPECT_BREAKS(aclrtProcessReport(5)); }
RULE_KEPT(ReportThread) {
  Device device;
  aclrtStream stream = make_stream();

  pthread_t name{};
  std::thread([&] {
    EXPECT_OK(aclrtSetDevice(0));
    name = pthread_self();
    EXPECT_OK(aclrtSubscribeReport(static_cast<uint64_t>(name), stream));
    EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
    EXPECT_OK(aclrtProcessReport(60000));
  }).join();
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

RULE_BROKEN(ReportTimeout) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_BREAKS(aclrtProcessReport(5));
}
RULE_KEPT(ReportTimeout) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(60000));
}

}  // namespace
}  // namespace plat::rule_test
