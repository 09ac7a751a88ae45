// SPDX-License-Identifier: Apache-2.0
// What the calls say of streams and events: numbers, priorities, flags, what is left; and of bad handles.
#include <gtest/gtest.h>

#include <thread>

#include "acl/acl.h"

namespace {

constexpr aclError kNull = 100000;
constexpr aclError kNoContext = 107002;
constexpr aclError kHandle = 107017;

class StreamInfo : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS); }
  void TearDown() override { EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS); }
};

aclrtStream make_stream(uint32_t priority = 0, uint32_t flags = 0) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, priority, flags), ACL_SUCCESS);
  return stream;
}
aclrtEvent make_event() {
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  return event;
}
int32_t number_of(aclrtStream stream) {
  int32_t number = -1;
  EXPECT_EQ(aclrtStreamGetId(stream, &number), ACL_SUCCESS);
  return number;
}

TEST_F(StreamInfo, NumbersTellStreamsApart) {
  aclrtStream one = make_stream();
  aclrtStream other = make_stream();
  aclrtStream usual = nullptr;
  ASSERT_EQ(aclrtCtxGetCurrentDefaultStream(&usual), ACL_SUCCESS);
  EXPECT_NE(number_of(one), number_of(other));
  EXPECT_NE(number_of(one), number_of(usual));
  EXPECT_EQ(number_of(nullptr), number_of(usual));
}

// A stream needs no context for its number, and may be of another one.
TEST_F(StreamInfo, ANumberNeedsNoContext) {
  aclrtStream stream = make_stream();
  const int32_t here = number_of(stream);
  std::thread([&] {
    int32_t number = -1;
    uint32_t value = 0;
    EXPECT_EQ(aclrtStreamGetId(stream, &number), ACL_SUCCESS);
    EXPECT_EQ(number, here);
    EXPECT_EQ(aclrtStreamGetId(nullptr, &number), kNoContext);
    EXPECT_EQ(aclrtStreamGetPriority(stream, &value), kNoContext);
    EXPECT_EQ(aclrtStreamGetFlags(stream, &value), kNoContext);
    EXPECT_EQ(aclrtGetStreamAvailableNum(&value), kNoContext);
    EXPECT_EQ(aclrtGetEventAvailNum(&value), kNoContext);
  }).join();
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  uint32_t priority = 9;
  EXPECT_EQ(number_of(stream), here);
  EXPECT_EQ(aclrtStreamGetPriority(stream, &priority), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
}

TEST_F(StreamInfo, PrioritiesAndFlagsAreThoseOfCreation) {
  aclrtStream stream = make_stream(5, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | 0x40000000);
  uint32_t value = 0;
  EXPECT_EQ(aclrtStreamGetPriority(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 5U);
  EXPECT_EQ(aclrtStreamGetFlags(stream, &value), ACL_SUCCESS);
  EXPECT_EQ(value, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);  // unknown bits are dropped
  EXPECT_EQ(aclrtStreamGetPriority(make_stream(99), &value), ACL_SUCCESS);
  EXPECT_EQ(value, 7U);
  EXPECT_EQ(aclrtStreamGetPriority(nullptr, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0U);
}

TEST_F(StreamInfo, EitherEndOfTheRangeMayBeLeftOut) {
  int32_t least = -1;
  int32_t greatest = -1;
  EXPECT_EQ(aclrtDeviceGetStreamPriorityRange(&least, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceGetStreamPriorityRange(nullptr, &greatest), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceGetStreamPriorityRange(nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 0);
}

TEST_F(StreamInfo, WhatIsLeftCountsDown) {
  uint32_t before = 0;
  uint32_t after = 0;
  ASSERT_EQ(aclrtGetStreamAvailableNum(&before), ACL_SUCCESS);
  aclrtStream stream = make_stream();
  ASSERT_EQ(aclrtGetStreamAvailableNum(&after), ACL_SUCCESS);
  EXPECT_EQ(after + 1, before);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetStreamAvailableNum(&after), ACL_SUCCESS);
  EXPECT_EQ(after, before);

  ASSERT_EQ(aclrtGetEventAvailNum(&before), ACL_SUCCESS);
  aclrtEvent event = make_event();
  ASSERT_EQ(aclrtGetEventAvailNum(&after), ACL_SUCCESS);
  EXPECT_EQ(after + 1, before);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(StreamInfo, EventsHaveNumbersOfTheirOwn) {
  aclrtEvent one = make_event();
  aclrtEvent other = make_event();
  uint32_t first = 0;
  uint32_t second = 0;
  EXPECT_EQ(aclrtGetEventId(one, &first), ACL_SUCCESS);
  std::thread([&] { EXPECT_EQ(aclrtGetEventId(other, &second), ACL_SUCCESS); }).join();  // without a context
  EXPECT_NE(first, second);
  EXPECT_EQ(aclrtDestroyEvent(one), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetEventId(one, &first), kHandle);
  EXPECT_EQ(aclrtDestroyEvent(other), ACL_SUCCESS);
}

TEST_F(StreamInfo, BadArgumentsAreToldInOrder) {
  int32_t number = 0;
  uint32_t value = 0;
  aclrtEvent event = make_event();
  aclrtStream stale = make_stream();
  ASSERT_EQ(aclrtDestroyStream(stale), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamGetId(stale, nullptr), kNull);
  EXPECT_EQ(aclrtStreamGetPriority(stale, nullptr), kNull);
  EXPECT_EQ(aclrtStreamGetFlags(stale, nullptr), kNull);
  EXPECT_EQ(aclrtGetStreamAvailableNum(nullptr), kNull);
  EXPECT_EQ(aclrtGetEventAvailNum(nullptr), kNull);
  EXPECT_EQ(aclrtGetEventId(nullptr, &value), kNull);
  EXPECT_EQ(aclrtGetEventId(event, nullptr), kNull);
  for (void* bad : {static_cast<void*>(stale), static_cast<void*>(event), static_cast<void*>(&value)}) {
    EXPECT_EQ(aclrtStreamGetId(bad, &number), kHandle);
    EXPECT_EQ(aclrtStreamGetPriority(bad, &value), kHandle);
    EXPECT_EQ(aclrtStreamGetFlags(bad, &value), kHandle);
  }
  std::thread([&] {
    EXPECT_EQ(aclrtStreamGetPriority(stale, &value), kHandle);
  }).join();  // before the context
  EXPECT_EQ(aclrtGetEventId(make_stream(), &value), kHandle);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

}  // namespace
