// SPDX-License-Identifier: Apache-2.0
// Events: every rule broken and kept.
#include "rules/stream_fixture.h"

namespace plat::rule_test {
namespace {

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
}
RULE_KEPT(EventFlagSupport) {
  Device device;
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  make_extended_event(ACL_EVENT_SYNC);
  make_extended_event(ACL_EVENT_IPC);
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
  aclrtEvent event = make_event(ACL_EVENT_SYNC);
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtStreamWaitEvent(make_stream(), event));
  EXPECT_OK(aclrtSynchronizeDevice());

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

}  // namespace
}  // namespace plat::rule_test
