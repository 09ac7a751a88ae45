// SPDX-License-Identifier: Apache-2.0
// Streams that are cut short, and their attributes: every rule broken and kept.
#include <atomic>
#include <thread>

#include "rules/stream_fixture.h"

namespace plat::rule_test {
namespace {

void count(void* number) { ++*static_cast<std::atomic<int>*>(number); }

RULE_BROKEN(StreamAborted) {
  Device device;
  Held held;
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtGetCurrentContext(&context));
  std::atomic<int> ran{0};
  EXPECT_OK(aclrtLaunchHostFunc(held.stream, count, &ran));
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, held.stream));
  std::thread waiter([&] {
    EXPECT_OK(aclrtSetCurrentContext(context));
    // It waits before the abort, or comes too late and finds nothing to wait for.
    const aclError code = aclrtSynchronizeStream(held.stream);
    if (code != ACL_SUCCESS) EXPECT_BREAKS(code);
  });
  EXPECT_OK(aclrtStreamAbort(held.stream));
  waiter.join();
  EXPECT_BREAKS(aclrtSynchronizeEvent(event));
  EXPECT_EQ(ran.load(), 0);
  // Stopping what waits at the head is an error of the stream, and the rest goes on.
  Held other;
  EXPECT_OK(aclrtLaunchHostFunc(other.stream, count, &ran));
  aclrtStreamStatus status;
  do EXPECT_OK(aclrtStreamStop(other.stream));
  while (aclrtStreamQuery(other.stream, &status) == 0 && status != ACL_STREAM_STATUS_COMPLETE);
  EXPECT_BREAKS(aclrtSynchronizeStream(other.stream));
  EXPECT_EQ(ran.load(), 1);
}
RULE_KEPT(StreamAborted) {
  Device device;
  Held held;
  std::atomic<int> ran{0};
  EXPECT_OK(aclrtLaunchHostFunc(held.stream, count, &ran));
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, held.stream));
  EXPECT_OK(aclrtStreamAbort(held.stream));
  // The stream works, and so does the event once it is recorded again.
  EXPECT_OK(aclrtLaunchHostFunc(held.stream, count, &ran));
  EXPECT_OK(aclrtRecordEvent(event, held.stream));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtSynchronizeStream(held.stream));
  EXPECT_EQ(ran.load(), 1);
  // Nothing to stop or to abort.
  EXPECT_OK(aclrtStreamStop(held.stream));
  EXPECT_OK(aclrtStreamAbort(nullptr));
  EXPECT_OK(aclrtSynchronizeStream(held.stream));
}

RULE_BROKEN(DeviceAborting) {
  Device device;
  Held held;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, held.stream));
  EXPECT_OK(aclrtDeviceTaskAbort(0, 0));
  EXPECT_BREAKS(aclrtSynchronizeEvent(event));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
}
RULE_KEPT(DeviceAborting) {
  Device device;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeEvent(event));  // first the work, then the abort
  EXPECT_OK(aclrtDeviceTaskAbort(0, 0));

  Held held, other;
  EXPECT_OK(aclrtDeviceTaskAbort(1, 10));  // another one, which has no work
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  EXPECT_OK(aclrtStreamQuery(held.stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  EXPECT_OK(aclrtDeviceTaskAbort(0, 0));
  EXPECT_OK(aclrtSynchronizeStream(held.stream));
  EXPECT_OK(aclrtLaunchHostFunc(other.stream, nothing, nullptr));
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(aclrtDeviceTaskAbort(-1, 0), 107001);
  EXPECT_EQ(aclrtDeviceTaskAbort(2, 0), 107001);
}

// With a seed the thread that aborts drops everything itself, one thing after the other, and there is more
// than can be dropped in a millisecond.
RULE_BROKEN(AbortTimeout, {"PLAT_STREAMS", "seeded:3"}) {
  Device device;
  Held held;
  for (int i = 0; i < 300000; ++i) ASSERT_EQ(aclrtLaunchHostFunc(held.stream, nothing, nullptr), ACL_SUCCESS);
  EXPECT_BREAKS(aclrtDeviceTaskAbort(0, 1));
  EXPECT_OK(aclrtDeviceTaskAbort(0, 0));
}
RULE_KEPT(AbortTimeout) {
  Device device;
  Held held;
  EXPECT_OK(aclrtDeviceTaskAbort(0, 60000));
}

std::string g_stages;
int32_t note_stage(int32_t id, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void* result) {
  g_stages += std::to_string(id) + std::to_string(stage) + std::to_string(timeout) + " ";
  return *static_cast<int32_t*>(result);
}

RULE_BROKEN(AbortCallback) {
  Device device;
  Held held;
  int32_t result = 7;
  EXPECT_OK(aclrtSetDeviceTaskAbortCallback("mine", note_stage, &result));
  EXPECT_BREAKS(aclrtDeviceTaskAbort(0, 5));
  EXPECT_EQ(g_stages, "005 ");
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  EXPECT_OK(aclrtStreamQuery(held.stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);  // nothing was aborted
}
RULE_KEPT(AbortCallback) {
  Device device;
  int32_t result = 0;
  EXPECT_OK(aclrtSetDeviceTaskAbortCallback("mine", note_stage, &result));
  EXPECT_EQ(aclrtSetDeviceTaskAbortCallback("mine", note_stage, &result), 107000);
  EXPECT_OK(aclrtDeviceTaskAbort(0, 5));
  EXPECT_EQ(g_stages, "005 015 ");
  EXPECT_OK(aclrtSetDeviceTaskAbortCallback("mine", nullptr, nullptr));
  EXPECT_OK(aclrtDeviceTaskAbort(0, 5));
  EXPECT_EQ(g_stages, "005 015 ");
}

RULE_BROKEN(StreamNull) {
  EXPECT_BREAKS(aclrtStreamAbort(nullptr));
  EXPECT_BREAKS(aclrtStreamStop(nullptr));
  aclrtStreamAttrValue value{};
  EXPECT_BREAKS(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  EXPECT_BREAKS(aclrtGetStreamAttribute(nullptr, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
  EXPECT_BREAKS(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_PRIORITY, &value));
  Device device;
  EXPECT_BREAKS(aclrtStreamStop(nullptr));
  EXPECT_BREAKS(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_PRIORITY, &value));
}
RULE_KEPT(StreamNull) {
  Device device;
  EXPECT_OK(aclrtStreamAbort(nullptr));
  EXPECT_OK(aclrtStreamStop(make_stream()));
  aclrtStreamAttrValue value{};
  EXPECT_OK(aclrtGetStreamAttribute(nullptr, ACL_STREAM_ATTR_FAILURE_MODE, &value));
}

RULE_BROKEN(StreamAttributeType) {
  Device device;
  aclrtStreamAttrValue value{};
  for (const int type : {-1, 0, 6}) {
    EXPECT_BREAKS(aclrtSetStreamAttribute(nullptr, static_cast<aclrtStreamAttr>(type), &value));
    EXPECT_BREAKS(aclrtGetStreamAttribute(nullptr, static_cast<aclrtStreamAttr>(type), &value));
  }
  EXPECT_EQ(aclrtSetStreamAttribute(&value, static_cast<aclrtStreamAttr>(6), &value), 107017);
  EXPECT_EQ(aclrtSetStreamAttribute(&value, static_cast<aclrtStreamAttr>(6), nullptr), 100000);
}
RULE_KEPT(StreamAttributeType) {
  Device device;
  aclrtStream stream = make_stream();
  const auto attribute = [&](aclrtStreamAttr type) {
    aclrtStreamAttrValue value{};
    EXPECT_OK(aclrtGetStreamAttribute(stream, type, &value));
    return value;
  };
  aclrtStreamAttrValue value{};
  EXPECT_EQ(attribute(ACL_STREAM_ATTR_USER_CUSTOM_TAG).userCustomTag, 0u);
  value.userCustomTag = 0xdeadbeef;
  EXPECT_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
  EXPECT_EQ(attribute(ACL_STREAM_ATTR_USER_CUSTOM_TAG).userCustomTag, 0xdeadbeefu);
  value = {};
  value.failureMode = 1;
  EXPECT_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  EXPECT_EQ(attribute(ACL_STREAM_ATTR_FAILURE_MODE).failureMode, 1u);
}

RULE_BROKEN(StreamAttributeValue) {
  Device device;
  aclrtStreamAttrValue value{};
  value.overflowSwitch = 2;
  EXPECT_BREAKS(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
  EXPECT_BREAKS(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
}
RULE_KEPT(StreamAttributeValue) {
  Device device;
  aclrtStreamAttrValue value{};
  value.overflowSwitch = 1;
  EXPECT_OK(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
  uint32_t flag = 0;
  EXPECT_OK(aclrtGetStreamOverflowSwitch(nullptr, &flag));  // the same switch under another name
  EXPECT_EQ(flag, 1u);
  EXPECT_OK(aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
  value = {};
  EXPECT_OK(aclrtGetStreamAttribute(nullptr, ACL_STREAM_ATTR_CACHE_OP_INFO, &value));
  EXPECT_EQ(value.cacheOpInfoSwitch, 1u);
}

RULE_BROKEN(StreamPriorityFixed) {
  Device device;
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&stream));
  aclrtStreamAttrValue value{};
  EXPECT_BREAKS(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
  EXPECT_BREAKS(
      aclrtSetStreamAttribute(make_stream(ACL_STREAM_CPU_SCHEDULE), ACL_STREAM_ATTR_PRIORITY, &value));
}
RULE_KEPT(StreamPriorityFixed) {
  Device device;
  aclrtStream stream = make_stream();
  aclrtStreamAttrValue value{};
  value.streamPriority = 99;
  EXPECT_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
  uint32_t priority = 0;
  EXPECT_OK(aclrtStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, 7u);
  EXPECT_OK(aclrtLaunchHostFunc(stream, nothing, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, &value));
  EXPECT_EQ(value.streamPriority, 7u);
}

RULE_BROKEN(CaptureOnly) {
  Device device;
  EXPECT_BREAKS(aclrtRecordEventWithFlag(make_event(), nullptr, ACL_EVENT_RECORD_EXTERNAL));
  EXPECT_BREAKS(aclrtStreamWaitEventWithFlag(nullptr, make_event(), 0, ACL_EVENT_WAIT_EXTERNAL));
  EXPECT_EQ(aclrtStreamWaitEventWithFlag(nullptr, make_event(), 1, ACL_EVENT_WAIT_EXTERNAL), 100000);
  EXPECT_EQ(aclrtStreamWaitEventWithFlag(nullptr, make_event(), 1, 2), 100000);
  EXPECT_EQ(aclrtStreamWaitEventWithFlag(nullptr, nullptr, 0, 0), 100000);
  EXPECT_EQ(aclrtRecordEventWithFlag(make_event(), nullptr, 2), 100000);
  EXPECT_EQ(aclrtRecordEventWithFlag(nullptr, nullptr, 0), 100000);
  EXPECT_EQ(aclrtRecordEventWithFlag(&device, nullptr, 0), 107017);
  EXPECT_EQ(aclrtStreamWaitEventWithFlag(nullptr, &device, 0, 0), 107017);
}
RULE_KEPT(CaptureOnly) {
  Device device;
  aclrtEvent event = make_event();
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_DEFAULT));
  EXPECT_OK(aclrtStreamWaitEventWithFlag(nullptr, event, 5, ACL_EVENT_WAIT_DEFAULT));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

RULE_BROKEN(EventRecordMixed) {
  Device device;
  aclrtEvent event = make_event();
  EXPECT_EQ(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_EXTERNAL), 107029);
  EXPECT_BREAKS(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_DEFAULT));
}
RULE_KEPT(EventRecordMixed) {
  Device device;
  aclrtEvent event = make_event();
  EXPECT_OK(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_DEFAULT));
  EXPECT_OK(aclrtRecordEventWithFlag(event, nullptr, ACL_EVENT_RECORD_DEFAULT));
  EXPECT_OK(aclrtSynchronizeEvent(event));
}

}  // namespace
}  // namespace plat::rule_test
