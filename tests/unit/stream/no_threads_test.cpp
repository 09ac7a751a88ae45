// SPDX-License-Identifier: Apache-2.0
// Where the system gives no thread, the threads of the client's that wait for streams run their work.
//
// Each wait has a time limit that only a hang reaches.
#include <pthread.h>

#include "fixture.h"

namespace plat::stream {
namespace {

constexpr int32_t kNeverMs = 60000;

class WithoutThreads : public StreamTest {
 protected:
  // Work of each kind that a stream can be given, and what shows that it ran.
  void give(StreamId stream) {
    EXPECT_OK(runtime.enqueue(stream, [this]() -> Result<> { return ++ran, Result<>{}; }));
    EXPECT_OK(runtime.enqueue_poll(stream, [this]() -> Result<bool> { return ++polled % 3 == 0; }));
    EXPECT_OK(runtime.launch_host_function(
        stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran));
  }

  std::atomic<int> ran{0};
  std::atomic<int> polled{0};
};

TEST_P(WithoutThreads, SynchronisingAStreamRunsItsWork) {
  const NoThreads none;
  give(StreamId{});
  EXPECT_OK(runtime.synchronize(StreamId{}, kNeverMs));
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(polled, 3);
}

TEST_P(WithoutThreads, SynchronisingTheDeviceRunsAllStreams) {
  const NoThreads none;
  for (int stream = 0; stream < 5; ++stream) give(make_stream());
  EXPECT_OK(runtime.synchronize_device(kNeverMs));
  EXPECT_EQ(ran, 10);
}

TEST_P(WithoutThreads, SynchronisingAnEventRunsWhatItComesAfter) {
  const NoThreads none;
  const StreamId first = make_stream();
  const StreamId second = make_stream();
  const EventId between = make_event();
  const EventId last = make_event();
  give(first);
  EXPECT_OK(runtime.events().record(between, first));
  EXPECT_OK(runtime.events().wait(second, between));
  give(second);
  EXPECT_OK(runtime.events().record(last, second));
  EXPECT_OK(runtime.events().synchronize(last, kNeverMs));
  EXPECT_EQ(ran, 4);
}

// A program that asks again and again, and never waits.
TEST_P(WithoutThreads, AskingRunsTheWork) {
  const NoThreads none;
  const EventId event = make_event();
  give(StreamId{});
  EXPECT_OK(runtime.events().record(event, StreamId{}));
  const auto end = Clock::now() + std::chrono::milliseconds(kNeverMs);
  while (!runtime.events().query_status(event).value()) ASSERT_LT(Clock::now(), end);
  give(StreamId{});
  while (!runtime.is_complete(StreamId{}).value()) ASSERT_LT(Clock::now(), end);
  EXPECT_EQ(ran, 4);
}

TEST_P(WithoutThreads, DestroyingRunsTheWorkOrDropsIt) {
  const NoThreads none;
  const StreamId finished = make_stream();
  give(finished);
  EXPECT_OK(runtime.destroy_stream(finished, Remaining::Finish));
  EXPECT_EQ(ran, 2);
  Latch never;
  const StreamId dropped = make_stream();
  EXPECT_OK(runtime.enqueue_poll(dropped, never.poll()));
  give(dropped);
  EXPECT_OK(runtime.destroy_stream(dropped, Remaining::Discard));
  EXPECT_EQ(ran, 2);
}

TEST_P(WithoutThreads, ResettingTheDeviceRunsTheWork) {
  const NoThreads none;
  give(StreamId{});
  EXPECT_OK(runtime.reset_device(0));
  EXPECT_EQ(ran, 2);
}

TEST_P(WithoutThreads, EndingEverythingRunsTheWork) {
  const NoThreads none;
  give(StreamId{});
  runtime.finish();
  EXPECT_EQ(ran, 2);
}

TEST_P(WithoutThreads, ProcessingReportsRunsWhatComesBeforeTheCallback) {
  const NoThreads none;
  const auto self = static_cast<uint64_t>(pthread_self());
  const StreamId stream = make_stream();
  EXPECT_OK(runtime.callbacks().subscribe(self, stream));
  give(stream);
  EXPECT_OK(runtime.callbacks().launch(
      stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &ran, true));
  give(stream);
  EXPECT_OK(runtime.callbacks().process(self, kNeverMs));
  EXPECT_OK(runtime.synchronize(stream, kNeverMs));
  EXPECT_EQ(ran, 5);
}

TEST_P(WithoutThreads, WaitsOfStreamsStillTimeOut) {
  const NoThreads none;
  const EventId never = make_event(EventKind::Flagged, kEventSync);
  EXPECT_OK(runtime.events().wait(StreamId{}, never, 1));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(StreamId{}, 1));
  EXPECT_BREAKS(StreamWaitTimeout, runtime.synchronize(StreamId{}, kNeverMs));
}

INSTANTIATE_MODES(WithoutThreads);

// The pool has threads, but code of the client's holds them all; what would release it is in another stream.
TEST(WithoutMoreThreads, AThreadThatSleepsAlreadyIsWokenToHelp) {
  Options options = options_for(Mode::Pool);
  options.workers = 1;
  Streams runtime(options);
  ASSERT_TRUE(runtime.set_device(0));
  static std::atomic<bool> entered, release;
  entered = release = false;
  const StreamId held = runtime.create_stream(0, 0).value();
  const StreamId other = runtime.create_stream(0, 0).value();
  EXPECT_OK(runtime.launch_host_function(
      held,
      [](void*) {
        entered = true;
        entered.notify_all();
        release.wait(false);
      },
      nullptr));
  entered.wait(false);
  const ContextId context = runtime.contexts().current_id().value();
  std::atomic<bool> waits{false};
  std::thread waiter([&] {
    EXPECT_OK(runtime.contexts().set_current(context));
    waits = true;
    waits.notify_all();
    EXPECT_OK(runtime.synchronize(held, kNeverMs));
  });
  waits.wait(false);
  const NoThreads none;
  EXPECT_OK(runtime.launch_host_function(
      other,
      [](void*) {
        release = true;
        release.notify_all();
      },
      nullptr));
  release.wait(false);  // Nobody else waits for the other stream.
  waiter.join();
  EXPECT_OK(runtime.synchronize(other, kNeverMs));
}

// A stream that polls is looked at again when its time comes, also if every worker went into client code
// since.
TEST(WithoutMoreThreads, ClientCodeDoesNotKeepPollingStreamsFromGoingOn) {
  Options options = options_for(Mode::Pool);
  options.workers = 1;
  Streams runtime(options);
  ASSERT_TRUE(runtime.set_device(0));
  const StreamId polling = runtime.create_stream(0, 0).value();
  const StreamId calling = runtime.create_stream(0, 0).value();
  static std::atomic<int> polls;
  static std::atomic<bool> entered, release;
  polls = 0;
  entered = release = false;
  Latch latch;
  EXPECT_OK(runtime.enqueue_poll(polling, [poll = latch.poll()]() mutable -> Result<bool> {
    ++polls;
    polls.notify_all();
    return poll();
  }));
  EXPECT_OK(runtime.enqueue(polling, []() -> Result<> {
    release = true;
    release.notify_all();
    return {};
  }));
  for (int now = polls; now < 10; now = polls) polls.wait(now);  // The pauses are long by then.
  EXPECT_OK(runtime.launch_host_function(
      calling,
      [](void*) {
        entered = true;
        entered.notify_all();
        release.wait(false);
      },
      nullptr));
  entered.wait(false);
  latch.open();
  EXPECT_OK(runtime.synchronize(calling, kNeverMs));
}

}  // namespace
}  // namespace plat::stream
