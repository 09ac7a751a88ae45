// SPDX-License-Identifier: Apache-2.0
// Contexts and streams: every rule broken and kept.
#include <thread>

#include "rules/stream_fixture.h"

namespace plat::rule_test {
namespace {

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
  EXPECT_OK(aclrtSetDevice(0));
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
  for (int count = 1; count < 2047; ++count) make_stream();
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
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
  EXPECT_BREAKS(aclrtSetStreamFailureMode(make_stream(ACL_STREAM_DEVICE_USE_ONLY), ACL_CONTINUE_ON_FAILURE));
}
RULE_KEPT(StreamNoHostWork) {
  Device device;
  EXPECT_OK(aclrtSynchronizeStream(make_stream(ACL_STREAM_PERSISTENT)));
  EXPECT_OK(aclrtLaunchHostFunc(make_stream(ACL_STREAM_HUGE), nothing, nullptr));
  EXPECT_OK(aclrtSetStreamFailureMode(make_stream(ACL_STREAM_PERSISTENT), ACL_STOP_ON_FAILURE));
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

  EXPECT_OK(aclrtSetOpWaitTimeout(1));
  EXPECT_OK(aclrtStreamWaitEvent(stream, make_event(ACL_EVENT_SYNC)));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
}
RULE_KEPT(StreamWaitTimeout) {
  Device device;
  aclrtStream stream = make_stream();
  aclrtEvent event = make_event(ACL_EVENT_SYNC);
  EXPECT_OK(aclrtStreamWaitEventWithTimeout(stream, event, 60));
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(stream));

  // The limit counts for waits that are queued after it, and 0 takes it away.
  Held before;
  EXPECT_OK(aclrtSetOpWaitTimeout(1));
  EXPECT_OK(aclrtSetOpWaitTimeout(0));
  Held after;
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(before.stream, 1500), 507046);
  EXPECT_FALSE(is_done(after.stream));
  before.release();
  after.release();
  EXPECT_OK(aclrtSynchronizeStream(before.stream));
  EXPECT_OK(aclrtSynchronizeStream(after.stream));
}

// What a host function is given: the context, the stream that it runs on, and another stream.
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

}  // namespace
}  // namespace plat::rule_test
