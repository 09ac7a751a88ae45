// SPDX-License-Identifier: Apache-2.0
// Devices and contexts: counts, what a thread's current one is, and what happens to handles that are gone.
#include "fixture.h"

namespace plat::stream {
namespace {

using ContextTest = StreamTest;

TEST_P(ContextTest, ThreadWithoutDeviceHasNoContext) {
  std::thread([&] {
    EXPECT_BREAKS(NoContext, runtime.contexts().current_id());
    EXPECT_BREAKS(NoContext, runtime.contexts().current_device());
    EXPECT_BREAKS(NoContext, runtime.create_stream(0, 0));
    EXPECT_BREAKS(NoContext, runtime.events().create(EventKind::Plain, 0));
    EXPECT_BREAKS(NoContext, runtime.synchronize(StreamId{}));
    EXPECT_BREAKS(NoContext, runtime.synchronize_device());
    EXPECT_OK(runtime.set_device(0));
    EXPECT_EQ(runtime.contexts().current_device().value(), 0);
  }).join();
}

TEST_P(ContextTest, DeviceIdMustExist) {
  EXPECT_BREAKS(DeviceId, runtime.set_device(-1));
  EXPECT_BREAKS(DeviceId, runtime.set_device(8));
  EXPECT_BREAKS(DeviceId, runtime.create_context(99));
  EXPECT_OK(runtime.set_device(7));
}

TEST_P(ContextTest, ResetCountsSets) {
  EXPECT_OK(runtime.set_device(0));
  EXPECT_OK(runtime.reset_device(0));
  EXPECT_EQ(runtime.contexts().current_device().value(), 0);  // Set twice, reset once.
  EXPECT_OK(runtime.reset_device(0));
  EXPECT_BREAKS(NoContext, runtime.contexts().current_device());
  EXPECT_BREAKS(DeviceNotSet, runtime.reset_device(0));
  EXPECT_FALSE(runtime.contexts().is_used(0));
}

TEST_P(ContextTest, ForcedResetIgnoresTheCount) {
  for (int times = 0; times < 5; ++times) EXPECT_OK(runtime.set_device(0));
  EXPECT_OK(runtime.reset_device_force(0));
  EXPECT_BREAKS(DeviceNotSet, runtime.reset_device_force(0));
  EXPECT_OK(runtime.set_device(0));
}

TEST_P(ContextTest, ResetFinishesWorkAndMakesStreamsStale) {
  const StreamId stream = make_stream();
  std::atomic<int> ran{0};
  for (int task = 0; task < 10; ++task)
    EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return ++ran, Result<>{}; }));
  EXPECT_OK(runtime.reset_device(0));
  EXPECT_EQ(ran, 10);
  EXPECT_BREAKS(StreamHandle,
                runtime.destroy_stream(stream, Remaining::Finish));  // the handle is judged first
  EXPECT_OK(runtime.set_device(0));
  EXPECT_BREAKS(StreamHandle, runtime.destroy_stream(stream, Remaining::Finish));
}

TEST_P(ContextTest, StreamsBelongToTheirContext) {
  const ContextId first = runtime.contexts().current_id().value();
  const StreamId stream = make_stream();
  const ContextId second = runtime.create_context(1).value();
  EXPECT_EQ(runtime.contexts().current_id().value(), second);
  EXPECT_EQ(runtime.contexts().current_device().value(), 1);
  EXPECT_BREAKS(StreamContext, runtime.enqueue(stream, []() -> Result<> { return {}; }));
  EXPECT_BREAKS(StreamContext, runtime.synchronize(stream));
  EXPECT_BREAKS(StreamContext, runtime.destroy_stream(stream, Remaining::Finish));
  EXPECT_OK(runtime.contexts().set_current(first));
  EXPECT_OK(runtime.synchronize(stream));
}

TEST_P(ContextTest, EachContextHasItsOwnDefaultStream) {
  const StreamId first = runtime.default_stream().value();
  EXPECT_EQ(runtime.resolve(StreamId{}).value(), first);
  EXPECT_OK(runtime.create_context(0));
  EXPECT_NE(runtime.default_stream().value(), first);
  EXPECT_BREAKS(StreamDefault, runtime.destroy_stream(runtime.default_stream().value(), Remaining::Finish));
}

TEST_P(ContextTest, DestroyedContextIsNoLongerCurrent) {
  const ContextId context = runtime.create_context(0).value();
  EXPECT_OK(runtime.destroy_context(context));
  EXPECT_BREAKS(NoContext, runtime.contexts().current_id());
  EXPECT_BREAKS(ContextHandle, runtime.destroy_context(context));
  EXPECT_BREAKS(ContextHandle, runtime.contexts().set_current(context));
  EXPECT_OK(runtime.set_device(0));
}

TEST_P(ContextTest, DefaultContextCannotBeDestroyed) {
  EXPECT_BREAKS(ContextDefault, runtime.destroy_context(runtime.contexts().current_id().value()));
}

TEST_P(ContextTest, HandlesOfOtherKindsAreRefused) {
  const StreamId stream = make_stream();
  const EventId event = make_event();
  EXPECT_BREAKS(StreamHandle, runtime.synchronize(StreamId{event.value}));
  EXPECT_BREAKS(EventHandle, runtime.events().synchronize(EventId{stream.value}));
  EXPECT_BREAKS(ContextHandle, runtime.contexts().set_current(ContextId{stream.value}));
  int variable = 0;
  EXPECT_BREAKS(StreamHandle, runtime.synchronize(id_of<StreamId>(&variable)));
  EXPECT_BREAKS(EventHandle, runtime.events().destroy(id_of<EventId>(&variable)));
}

TEST_P(ContextTest, ShutdownDropsEverythingAndMayBeRepeated) {
  const StreamId stream = make_stream();
  Latch latch;
  EXPECT_OK(runtime.enqueue_poll(stream, latch.poll()));
  runtime.shutdown();
  runtime.shutdown();
  EXPECT_BREAKS(NoContext, runtime.contexts().current_id());
  EXPECT_OK(runtime.set_device(0));
  EXPECT_OK(runtime.synchronize(StreamId{}));
}

INSTANTIATE_MODES(ContextTest);

}  // namespace
}  // namespace plat::stream
