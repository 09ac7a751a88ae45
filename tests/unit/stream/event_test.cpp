// SPDX-License-Identifier: Apache-2.0
// Events: records and waits, the three kinds, queries with their rules, time.
#include "fixture.h"

namespace plat::stream {
namespace {

class EventTest : public StreamTest {
 protected:
  // Keeps a stream busy until the latch opens.
  void hold(StreamId stream) { EXPECT_OK(runtime.enqueue_poll(stream, latch.poll())); }
  Latch latch;
};

TEST_P(EventTest, StreamWaitsForAnotherStreamsRecord) {
  const StreamId first = make_stream();
  const StreamId second = make_stream();
  const EventId event = make_event();
  int value = 0;
  hold(first);
  EXPECT_OK(runtime.enqueue(first, [&]() -> Result<> { return value = 1, Result<>{}; }));
  EXPECT_OK(runtime.events().record(event, first));
  EXPECT_OK(runtime.events().wait(second, event));
  EXPECT_OK(runtime.enqueue(second, [&]() -> Result<> { return value *= 10, Result<>{}; }));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(second, 5));
  EXPECT_FALSE(runtime.events().query_waits(event).value());
  latch.open();
  EXPECT_OK(runtime.synchronize(second));
  EXPECT_EQ(value, 10);
  EXPECT_TRUE(runtime.events().query_waits(event).value());
}

TEST_P(EventTest, WaitHoldsTheRecordOfItsTime) {
  const StreamId first = make_stream();
  const StreamId held = make_stream();
  const StreamId waiting = make_stream();
  const EventId event = make_event(EventKind::Extended, kEventSync);
  EXPECT_OK(runtime.events().record(event, first));
  EXPECT_OK(runtime.events().wait(waiting, event));
  hold(held);
  EXPECT_OK(runtime.events().record(event, held));  // Must not delay the wait above.
  EXPECT_OK(runtime.synchronize(waiting));
  EXPECT_FALSE(runtime.events().query_status(event).value());
  latch.open();
  EXPECT_OK(runtime.events().synchronize(event));
  EXPECT_TRUE(runtime.events().query_status(event).value());
}

TEST_P(EventTest, UnrecordedEventIsCompleteOnlyIfExtended) {
  EXPECT_TRUE(runtime.events().query_status(make_event(EventKind::Extended, kEventSync)).value());
  EXPECT_FALSE(runtime.events().query_status(make_event()).value());
  EXPECT_FALSE(runtime.events().query(make_event(EventKind::Flagged, kEventSync)).value());
  EXPECT_OK(runtime.events().synchronize(make_event(EventKind::Extended, kEventSync)));
  EXPECT_BREAKS(EventNotRecorded, runtime.events().synchronize(make_event()));
}

TEST_P(EventTest, WaitForAnUnrecordedEvent) {
  const StreamId stream = make_stream();
  EXPECT_OK(runtime.events().wait(stream, make_event()));
  EXPECT_OK(runtime.events().wait(stream, make_event(EventKind::Extended, kEventSync)));
  EXPECT_OK(runtime.synchronize(stream));  // Nothing to wait for.

  const EventId event = make_event(EventKind::Flagged, kEventSync);
  EXPECT_OK(runtime.events().wait(stream, event));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(stream, 5));
  EXPECT_OK(runtime.events().record(event, make_stream()));  // The record that it waits for.
  EXPECT_OK(runtime.synchronize(stream));
}

TEST_P(EventTest, DestroyReleasesWhoWaitsForARecord) {
  const StreamId stream = make_stream();
  const EventId event = make_event(EventKind::Flagged, kEventSync);
  EXPECT_OK(runtime.events().wait(stream, event));
  EXPECT_OK(runtime.events().destroy(event));
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_BREAKS(EventHandle, runtime.events().destroy(event));
}

TEST_P(EventTest, DestroyedEventStillCompletes) {
  const StreamId first = make_stream();
  const StreamId second = make_stream();
  const EventId event = make_event();
  hold(first);
  EXPECT_OK(runtime.events().record(event, first));
  EXPECT_OK(runtime.events().wait(second, event));
  EXPECT_OK(runtime.events().destroy(event));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(second, 5));
  latch.open();
  EXPECT_OK(runtime.synchronize(second));
  EXPECT_BREAKS(EventHandle, runtime.events().record(event, first));
  EXPECT_BREAKS(EventHandle, runtime.events().wait(first, event));
  EXPECT_BREAKS(EventHandle, runtime.events().query_status(event));
}

TEST_P(EventTest, WaitWithTimeoutFailsTheStream) {
  const StreamId first = make_stream();
  const StreamId second = make_stream();
  const EventId event = make_event();
  hold(first);
  EXPECT_OK(runtime.events().record(event, first));
  EXPECT_BREAKS(StreamTimeoutValue, runtime.events().wait(second, event, -1));
  EXPECT_OK(runtime.events().wait(second, event, 1));
  EXPECT_BREAKS(StreamWaitTimeout, runtime.synchronize(second));
  EXPECT_OK(runtime.synchronize(second));
  latch.open();
  EXPECT_OK(runtime.events().wait(second, event, 60));
  EXPECT_OK(runtime.synchronize(second));
}

TEST_P(EventTest, SynchronizeTimesOut) {
  const StreamId stream = make_stream();
  const EventId event = make_event();
  hold(stream);
  EXPECT_OK(runtime.events().record(event, stream));
  EXPECT_BREAKS(EventSyncTimeout, runtime.events().synchronize(event, 5));
  EXPECT_BREAKS(StreamTimeoutValue, runtime.events().synchronize(event, 0));
  EXPECT_BREAKS(StreamTimeoutValue, runtime.events().synchronize(event, -2));
  latch.open();
  EXPECT_OK(runtime.events().synchronize(event, 60000));
}

TEST_P(EventTest, ResetForgetsTheRecord) {
  const StreamId stream = make_stream();
  const EventId event = make_event(EventKind::Flagged, kEventSync);
  EXPECT_OK(runtime.events().record(event, stream));
  EXPECT_OK(runtime.events().synchronize(event));
  EXPECT_TRUE(runtime.events().query(event).value());
  EXPECT_OK(runtime.events().reset(event, stream));
  EXPECT_FALSE(runtime.events().query(event).value());
  EXPECT_OK(runtime.events().record(event, stream));
  EXPECT_OK(runtime.events().synchronize(event));
}

TEST_P(EventTest, OnlyEventsThatSynchroniseMayBeWaitedOnAndReset) {
  const StreamId stream = make_stream();
  const EventId timer = make_event(EventKind::Flagged, kEventTimeLine);
  EXPECT_OK(runtime.events().record(timer, stream));
  EXPECT_BREAKS(EventWaitable, runtime.events().wait(stream, timer));
  EXPECT_BREAKS(EventResettable, runtime.events().reset(timer, stream));
  EXPECT_BREAKS(EventQueryable, runtime.events().query_waits(timer));
  const EventId extended = make_event(EventKind::Extended, kEventSync);
  EXPECT_OK(runtime.events().wait(stream, extended));
  EXPECT_BREAKS(EventResettable, runtime.events().reset(extended, stream));
  EXPECT_BREAKS(EventQueryable, runtime.events().query(extended));
  EXPECT_BREAKS(EventQueryable, runtime.events().query_waits(extended));
}

TEST_P(EventTest, FlagsAreChecked) {
  for (const EventKind kind : {EventKind::Flagged, EventKind::Extended}) {
    EXPECT_BREAKS(EventFlags, runtime.events().create(kind, 0));
    EXPECT_BREAKS(EventFlags, runtime.events().create(kind, 0x100));
    EXPECT_OK(runtime.events().create(kind, kEventSync | kEventTimeLine | kEventProgress));
  }
  EXPECT_BREAKS(EventFlags, runtime.events().create(EventKind::Flagged, kEventExternal | kEventSync));
  EXPECT_BREAKS(EventFlags, runtime.events().create(EventKind::Extended, kEventIpc | kEventSync));
  EXPECT_BREAKS(EventFlagSupport, runtime.events().create(EventKind::Flagged, kEventExternal));
  const EventId device_only = make_event(EventKind::Flagged, kEventDeviceOnly);
  EXPECT_BREAKS(EventDeviceOnly, runtime.events().record(device_only, StreamId{}));
  EXPECT_BREAKS(EventDeviceOnly, runtime.events().wait(StreamId{}, device_only));
  EXPECT_BREAKS(EventDeviceOnly, runtime.events().reset(device_only, StreamId{}));
}

TEST_P(EventTest, EventsAreLimitedButForExtendedOnes) {
  runtime.set_limits(10, 3);
  const EventId first = make_event();
  make_event();
  make_event(EventKind::Flagged, kEventSync);
  EXPECT_BREAKS(EventLimit, runtime.events().create(EventKind::Plain, 0));
  EXPECT_OK(runtime.events().create(EventKind::Extended, kEventSync));
  EXPECT_OK(runtime.events().destroy(first));
  EXPECT_OK(runtime.events().create(EventKind::Plain, 0));
}

// What was refused is not counted, and what was counted comes back once.
TEST_P(EventTest, RefusalsLeaveTheCountAlone) {
  runtime.set_limits(8, 3);
  for (int i = 0; i < 10; ++i) {
    EXPECT_BREAKS(EventFlags, runtime.events().create(EventKind::Flagged, 0x4000));
    EXPECT_BREAKS(EventFlagSupport, runtime.events().create(EventKind::Flagged, kEventExternal));
  }
  std::thread([&] { EXPECT_BREAKS(NoContext, runtime.events().create(EventKind::Plain, 0)); }).join();
  for (int round = 0; round < 3; ++round) {
    std::vector<EventId> events;
    for (int i = 0; i < 3; ++i) events.push_back(make_event());
    for (int i = 0; i < 5; ++i) EXPECT_BREAKS(EventLimit, runtime.events().create(EventKind::Plain, 0));
    for (const EventId event : events) {
      EXPECT_OK(runtime.events().destroy(event));
      EXPECT_BREAKS(EventHandle, runtime.events().destroy(event));
    }
  }
}

TEST_P(EventTest, MeasuresTime) {
  const StreamId stream = make_stream();
  const EventId start = make_event(EventKind::Extended, kEventTimeLine);
  const EventId end = make_event();
  EXPECT_OK(runtime.events().record(start, stream));
  EXPECT_OK(runtime.events().synchronize(start));
  hold(stream);
  EXPECT_OK(runtime.events().record(end, stream));
  EXPECT_BREAKS(EventTime, runtime.events().elapsed_ms(start, end));  // The end was not reached.
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(stream, 5));
  latch.open();
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_GE(runtime.events().elapsed_ms(start, end).value(), 5.0F);
  EXPECT_EQ(runtime.events().elapsed_ms(start, start).value(), 0.0F);
  EXPECT_BREAKS(EventTimeOrder, runtime.events().elapsed_ms(end, start));
  EXPECT_GE(runtime.events().timestamp_us(end).value(), runtime.events().timestamp_us(start).value() + 5000);
}

TEST_P(EventTest, TimeNeedsTheTimeLine) {
  const EventId event = make_event(EventKind::Flagged, kEventSync);
  EXPECT_OK(runtime.events().record(event, StreamId{}));
  EXPECT_OK(runtime.synchronize(StreamId{}));
  EXPECT_BREAKS(EventTime, runtime.events().elapsed_ms(event, event));
  EXPECT_BREAKS(EventTime, runtime.events().timestamp_us(event));
  EXPECT_BREAKS(EventTime, runtime.events().timestamp_us(make_event()));  // Never recorded.
}

INSTANTIATE_MODES(EventTest);

}  // namespace
}  // namespace plat::stream
