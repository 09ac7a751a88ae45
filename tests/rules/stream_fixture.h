// SPDX-License-Identifier: Apache-2.0
// Streams and events for tests of rules.
#pragma once

#include "rules/rule_test.h"

namespace plat::rule_test {

// A host function or callback that does nothing.
inline void nothing(void*) {}
// Whether aclrtStreamQuery says that nothing is left to do.
inline bool is_done(aclrtStream stream) {
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  EXPECT_OK(aclrtStreamQuery(stream, &status));
  return status == ACL_STREAM_STATUS_COMPLETE;
}
// What aclrtCreateStreamWithConfig gives.
inline aclrtStream make_stream(uint32_t flags = 0) {
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStreamWithConfig(&stream, 0, flags));
  return stream;
}
// What aclrtCreateEvent gives, or aclrtCreateEventWithFlag.
inline aclrtEvent make_event() {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEvent(&event));
  return event;
}
inline aclrtEvent make_event(uint32_t flags) {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEventWithFlag(&event, flags));
  return event;
}
// What aclrtCreateEventExWithFlag gives.
inline aclrtEvent make_extended_event(uint32_t flags) {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEventExWithFlag(&event, flags));
  return event;
}

// A stream that does nothing until the signal is recorded.
struct Held {
  aclrtStream stream = make_stream();
  aclrtEvent signal = make_event(ACL_EVENT_SYNC);
  Held() { EXPECT_READY(aclrtStreamWaitEvent(stream, signal)); }
  void release() { EXPECT_OK(aclrtRecordEvent(signal, nullptr)); }
};

// Device 0 is open.
struct Device {
  Device() { EXPECT_READY(aclrtSetDevice(0)); }
};

}  // namespace plat::rule_test
