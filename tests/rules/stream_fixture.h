// SPDX-License-Identifier: Apache-2.0
// Streams and events for tests of rules.
#pragma once

#include "rules/rule_test.h"

namespace plat::rule_test {

inline aclrtStream make_stream(uint32_t flags = 0) {
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStreamWithConfig(&stream, 0, flags));
  return stream;
}
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
inline aclrtEvent make_extended_event(uint32_t flags) {
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

}  // namespace plat::rule_test
