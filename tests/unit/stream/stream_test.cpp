// SPDX-License-Identifier: Apache-2.0
// Streams: order, synchronisation, errors, limits, destruction.
#include "fixture.h"

#include <mutex>
#include <stdexcept>

namespace plat::stream {
namespace {

Result<> broken() { return fail(RuleId::DeviceInternal, "task", "it broke"); }

TEST_P(StreamTest, RunsInOrder) {
  const StreamId stream = make_stream();
  std::vector<int> order;  // Touched by the stream alone until it is synchronised.
  for (int task = 0; task < 1000; ++task) {
    EXPECT_OK(runtime.enqueue(stream, [&order, task]() -> Result<> {
      order.push_back(task);
      return {};
    }));
  }
  EXPECT_OK(runtime.synchronize(stream));
  ASSERT_EQ(order.size(), 1000U);
  for (int task = 0; task < 1000; ++task) EXPECT_EQ(order[task], task);
}

TEST_P(StreamTest, StreamsDoNotWaitForEachOther) {
  const StreamId blocked = make_stream();
  const StreamId free = make_stream();
  Latch latch;
  bool ran = false;
  EXPECT_OK(runtime.enqueue_poll(blocked, latch.poll()));
  EXPECT_OK(runtime.enqueue(free, [&]() -> Result<> { return ran = true, Result<>{}; }));
  EXPECT_OK(runtime.synchronize(free));
  EXPECT_TRUE(ran);
  EXPECT_FALSE(runtime.is_complete(blocked).value());
  latch.open();
  EXPECT_OK(runtime.synchronize(blocked));
  EXPECT_TRUE(runtime.is_complete(blocked).value());
}

TEST_P(StreamTest, SynchronizeTimesOut) {
  const StreamId stream = make_stream();
  Latch latch;
  EXPECT_OK(runtime.enqueue_poll(stream, latch.poll()));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(stream, 5));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize_device(5));
  latch.open();
  EXPECT_OK(runtime.synchronize(stream, 60000));
  EXPECT_OK(runtime.synchronize_device(60000));
}

TEST_P(StreamTest, TimeoutMustBePositiveOrForever) {
  EXPECT_BREAKS(StreamTimeoutValue, runtime.synchronize(StreamId{}, 0));
  EXPECT_BREAKS(StreamTimeoutValue, runtime.synchronize(StreamId{}, -2));
  EXPECT_BREAKS(StreamTimeoutValue, runtime.synchronize_device(0));
  EXPECT_OK(runtime.synchronize(StreamId{}, 1));
}

TEST_P(StreamTest, DeviceSynchronisesAllItsStreams) {
  std::atomic<int> ran{0};
  std::vector<StreamId> streams(20);
  for (auto& stream : streams) {
    stream = make_stream();
    EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return ++ran, Result<>{}; }));
  }
  EXPECT_OK(runtime.synchronize_device());
  EXPECT_EQ(ran, 20);
}

TEST_P(StreamTest, ErrorSurfacesAtTheNextSynchronisationOnce) {
  const StreamId stream = make_stream();
  bool ran = false;
  EXPECT_OK(runtime.enqueue(stream, broken));
  EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return ran = true, Result<>{}; }));
  EXPECT_BREAKS(DeviceInternal, runtime.synchronize(stream));
  EXPECT_TRUE(ran);  // The default is to go on.
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_OK(runtime.enqueue(stream, broken));
  EXPECT_BREAKS(DeviceInternal, runtime.synchronize_device());
  EXPECT_OK(runtime.synchronize(stream));
}

TEST_P(StreamTest, ThrowingTaskIsAnError) {
  EXPECT_OK(runtime.enqueue(StreamId{}, []() -> Result<> { throw std::bad_alloc(); }));
  EXPECT_BREAKS(DeviceInternal, runtime.synchronize(StreamId{}));
}

TEST_P(StreamTest, ThrowingPollIsAnErrorAndTheStreamGoesOn) {
  const auto stream = make_stream();
  EXPECT_OK(runtime.enqueue_poll(stream, []() -> Result<bool> { throw std::bad_alloc(); }));
  bool ran = false;
  EXPECT_OK(runtime.enqueue(stream, [&ran]() -> Result<> { return ran = true, Result<>{}; }));
  EXPECT_BREAKS(DeviceInternal, runtime.synchronize(stream));
  EXPECT_TRUE(ran);
}

TEST_P(StreamTest, ThrowingHostFunctionIsAnErrorAndTheStreamGoesOn) {
  const auto stream = make_stream();
  EXPECT_OK(runtime.launch_host_function(
      stream, [](void*) { throw std::runtime_error("the client's"); }, nullptr));
  bool ran = false;
  EXPECT_OK(runtime.launch_host_function(
      stream, [](void* flag) { *static_cast<bool*>(flag) = true; }, &ran));
  EXPECT_BREAKS(CallbackReturn, runtime.synchronize(stream));
  EXPECT_TRUE(ran);
}

// The thread is one of the library's or, where the client's own threads run the work, the client's.
TEST_P(StreamTest, AHostFunctionMayEndItsThread) {
  const StreamId stream = make_stream();
  const ContextId context = runtime.contexts().current_id().value();
  std::atomic<int> ran{0};
  const auto in_a_thread = [&](auto body) {
    bool survived = false;
    std::thread([&] {
      EXPECT_OK(runtime.contexts().set_current(context));
      body();
      survived = true;
    }).join();
    return survived;
  };
  for (int call = 0; call < 3; ++call) {
    in_a_thread([&] {
      EXPECT_OK(runtime.launch_host_function(
          stream, [](void*) { pthread_exit(nullptr); }, nullptr));
    });
    in_a_thread(
        [&] { EXPECT_OK(runtime.enqueue(stream, [&ran]() -> Result<> { return ++ran, Result<>{}; })); });
  }
  Result<> first;
  int ended = 0;
  const auto synchronise = [&] {
    if (auto result = runtime.synchronize(stream, 60000); !result) first = std::move(result);
  };
  while (!in_a_thread(synchronise)) ASSERT_LT(++ended, 4);
  EXPECT_BREAKS(CallbackReturn, first);
  EXPECT_EQ(ran, 3);
  EXPECT_OK(runtime.synchronize(stream, 60000));
}

TEST_P(StreamTest, AFailureNamesItsStream) {
  const StreamId one = make_stream();
  const StreamId other = make_stream();
  EXPECT_OK(runtime.enqueue(other, broken));
  EXPECT_OK(runtime.synchronize(one));
  const Result<> failed = runtime.synchronize_device();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().detail.find(fmt::format("{:#x}", other.value)), std::string::npos)
      << failed.error().detail;
  EXPECT_OK(runtime.synchronize_device());
}

TEST_P(StreamTest, StopOnFailureStopsTheWholeContext) {
  EXPECT_OK(runtime.create_context(0));
  const StreamId failing = make_stream();
  const StreamId other = make_stream();
  EXPECT_OK(runtime.set_failure_mode(failing, 1));
  Latch never;
  std::atomic<bool> ran{false};
  const EventId event = make_event(EventKind::Flagged, kEventSync);
  EXPECT_OK(runtime.events().wait(other, event));  // Never recorded: only the failure ends this wait.
  EXPECT_OK(runtime.enqueue(other, [&]() -> Result<> { return ran = true, Result<>{}; }));
  EXPECT_OK(runtime.enqueue(failing, broken));
  EXPECT_BREAKS(DeviceInternal, runtime.synchronize(failing));
  EXPECT_BREAKS(DeviceInternal, runtime.synchronize(other));
  EXPECT_BREAKS(DeviceInternal, runtime.enqueue(other, []() -> Result<> { return {}; }));
  EXPECT_FALSE(ran);
  EXPECT_OK(runtime.set_device(0));  // Another context.
  EXPECT_OK(runtime.enqueue(StreamId{}, []() -> Result<> { return {}; }));
  EXPECT_OK(runtime.synchronize(StreamId{}));
}

TEST_P(StreamTest, FailureModeIsSetOnce) {
  EXPECT_BREAKS(StreamFailureMode, runtime.set_failure_mode(StreamId{}, 2));
  EXPECT_OK(runtime.set_failure_mode(StreamId{}, 0));
  EXPECT_OK(runtime.set_failure_mode(StreamId{}, 1));
  EXPECT_OK(runtime.set_failure_mode(StreamId{}, 1));
  EXPECT_BREAKS(StreamFailureModeOnce, runtime.set_failure_mode(StreamId{}, 0));
}

// A thread remembers the stream it used last; not longer than it is there, and not in another context.
TEST_P(StreamTest, AStreamThatAnotherThreadDestroyedIsFoundNoMore) {
  const StreamId stream = make_stream();
  const auto give = [&] { return runtime.enqueue(stream, []() -> Result<> { return {}; }); };
  for (int i = 0; i < 3; ++i) EXPECT_OK(give());
  const ContextId here = runtime.contexts().current_id().value();
  ASSERT_TRUE(runtime.create_context(0));
  EXPECT_BREAKS(StreamContext, give());
  EXPECT_OK(runtime.contexts().set_current(here));
  EXPECT_OK(give());
  std::thread([&] {
    EXPECT_OK(runtime.contexts().set_current(here));
    EXPECT_OK(runtime.destroy_stream(stream, Remaining::Finish));
  }).join();
  EXPECT_BREAKS(StreamHandle, give());
  const StreamId next = make_stream();  // in the same place, under another id
  EXPECT_BREAKS(StreamHandle, give());
  EXPECT_OK(runtime.enqueue(next, []() -> Result<> { return {}; }));
}

TEST_P(StreamTest, DestroyWaitsForWork) {
  const StreamId stream = make_stream();
  std::atomic<int> ran{0};
  for (int task = 0; task < 100; ++task)
    EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return ++ran, Result<>{}; }));
  EXPECT_OK(runtime.destroy_stream(stream, Remaining::Finish));
  EXPECT_EQ(ran, 100);
  EXPECT_BREAKS(StreamHandle, runtime.destroy_stream(stream, Remaining::Finish));
  EXPECT_BREAKS(StreamHandle, runtime.enqueue(stream, []() -> Result<> { return {}; }));
  EXPECT_BREAKS(StreamHandle, runtime.synchronize(stream));
}

TEST_P(StreamTest, ForcedDestroyDropsWorkAndReleasesWhoWaitsForIt) {
  const StreamId stream = make_stream();
  const StreamId waiting = make_stream();
  const EventId event = make_event();
  Latch latch;
  std::atomic<bool> ran{false};
  EXPECT_OK(runtime.enqueue_poll(stream, latch.poll()));
  EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return ran = true, Result<>{}; }));
  EXPECT_OK(runtime.events().record(event, stream));
  EXPECT_OK(runtime.events().wait(waiting, event));
  EXPECT_OK(runtime.destroy_stream(stream, Remaining::Discard));
  EXPECT_OK(runtime.synchronize(waiting));
  EXPECT_OK(runtime.events().synchronize(event));
  EXPECT_FALSE(ran);
}

TEST_P(StreamTest, HostFunctionsRunInOrder) {
  const StreamId stream = make_stream();
  int value = 1;
  EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return value *= 3, Result<>{}; }));
  EXPECT_OK(runtime.launch_host_function(
      stream, [](void* at) { *static_cast<int*>(at) += 1; }, &value));
  EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return value *= 2, Result<>{}; }));
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_EQ(value, 8);
  EXPECT_BREAKS(CallbackFunction, runtime.launch_host_function(stream, nullptr, nullptr));
}

// More functions block at once than the pool has workers, and the one that releases them comes last.
TEST_P(StreamTest, BlockingHostFunctionsDoNotStarveOtherStreams) {
  if (GetParam() != Mode::Pool)
    return;  // Elsewhere one thread runs everything: blocking it blocks all, by design.
  static std::atomic<bool> release;
  static std::atomic<int> entered;
  release = false;
  entered = 0;
  std::vector<StreamId> streams(16);
  for (auto& stream : streams) {
    stream = make_stream();
    EXPECT_OK(runtime.launch_host_function(
        stream,
        [](void*) {
          ++entered;
          entered.notify_all();
          release.wait(false);
        },
        nullptr));
  }
  for (int now = entered; now < 16; now = entered) entered.wait(now);
  const StreamId last = make_stream();
  EXPECT_OK(runtime.launch_host_function(
      last,
      [](void*) {
        release = true;
        release.notify_all();
      },
      nullptr));
  EXPECT_OK(runtime.synchronize_device());
}

TEST_P(StreamTest, FunctionMustNotWaitForItsOwnStream) {
  struct Call {
    Streams& runtime;
    ContextId context;
    StreamId stream;
    bool refused = false;
  } call{runtime, runtime.contexts().current_id().value(), make_stream()};
  EXPECT_OK(runtime.launch_host_function(
      call.stream,
      [](void* at) {
        auto& self = *static_cast<Call*>(at);
        EXPECT_OK(self.runtime.contexts().set_current(self.context));
        EXPECT_BREAKS(StreamSelfWait, self.runtime.synchronize(self.stream));
        EXPECT_BREAKS(StreamSelfWait, self.runtime.destroy_stream(self.stream, Remaining::Finish));
        self.refused = true;
      },
      &call));
  EXPECT_OK(runtime.synchronize(call.stream));
  EXPECT_TRUE(call.refused);
}

TEST_P(StreamTest, FunctionMayQueueMoreAndWaitForOthers) {
  struct Call {
    Streams& runtime;
    ContextId context;
    StreamId own, other;
    std::atomic<int> ran{0};
  } call{runtime, runtime.contexts().current_id().value(), make_stream(), make_stream()};
  EXPECT_OK(runtime.launch_host_function(
      call.own,
      [](void* at) {
        auto& self = *static_cast<Call*>(at);
        auto count = [&self]() -> Result<> { return ++self.ran, Result<>{}; };
        EXPECT_OK(self.runtime.contexts().set_current(self.context));
        EXPECT_OK(self.runtime.enqueue(self.own, count));
        EXPECT_OK(self.runtime.enqueue(self.other, count));
        EXPECT_OK(self.runtime.synchronize(self.other));
      },
      &call));
  EXPECT_OK(runtime.synchronize(call.own));
  EXPECT_OK(runtime.synchronize(
      call.own));  // What the function queued came after the first synchronisation's goal.
  EXPECT_EQ(call.ran, 2);
}

TEST_P(StreamTest, StreamsAreLimited) {
  runtime.set_limits(10, 10);
  std::vector<StreamId> streams;
  for (int count = 1; count < 10; ++count) streams.push_back(make_stream());  // One is the default stream.
  EXPECT_BREAKS(StreamLimit, runtime.create_stream(0, 0));
  EXPECT_OK(runtime.destroy_stream(streams.back(), Remaining::Finish));
  EXPECT_OK(runtime.create_stream(0, 0));
}

TEST_P(StreamTest, AsManyStreamsAsADeviceHas) {
  std::vector<StreamId> streams;
  for (int count = 1; count < 1984; ++count) streams.push_back(make_stream());
  EXPECT_BREAKS(StreamLimit, runtime.create_stream(0, 0));
  std::atomic<int> ran{0};
  for (const StreamId stream : streams)
    EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return ++ran, Result<>{}; }));
  EXPECT_OK(runtime.synchronize_device());
  EXPECT_EQ(ran, 1983);
}

TEST_P(StreamTest, FlagsAreTakenAsDocumented) {
  EXPECT_OK(runtime.create_stream(99, 0x3));        // Priorities beyond the lowest are the lowest.
  EXPECT_OK(runtime.create_stream(0, 0x40000000));  // Unknown flags are ignored.
  EXPECT_BREAKS(StreamFlags, runtime.create_stream(0, 0x21));
  const StreamId persistent = runtime.create_stream(0, 0x4).value();
  EXPECT_BREAKS(StreamNoHostWork, runtime.enqueue(persistent, []() -> Result<> { return {}; }));
  EXPECT_OK(runtime.synchronize(persistent));
  EXPECT_OK(runtime.destroy_stream(persistent, Remaining::Finish));
}

TEST_P(StreamTest, PollErrorSurfaces) {
  EXPECT_OK(runtime.enqueue_poll(
      StreamId{}, []() -> Result<bool> { return fail(RuleId::DeviceInternal, "", "it broke"); }));
  EXPECT_BREAKS(DeviceInternal, runtime.synchronize(StreamId{}));
}

INSTANTIATE_MODES(StreamTest);

}  // namespace
}  // namespace plat::stream
