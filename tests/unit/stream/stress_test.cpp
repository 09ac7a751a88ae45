// SPDX-License-Identifier: Apache-2.0
// Many threads, streams and events at once, with everything that can be destroyed being destroyed. Made for
// ThreadSanitizer: there is little to assert beyond that nothing hangs and order holds.
#include "fixture.h"

#include <random>

namespace plat::stream {
namespace {

using StressTest = StreamTest;

void worker(Streams& runtime, uint64_t seed, EventId shared) {
  std::mt19937_64 random(seed);
  EXPECT_OK(runtime.set_device(0));
  for (int round = 0; round < 30; ++round) {
    const StreamId a = runtime.create_stream(random() % 8, 0).value();
    const StreamId b = runtime.create_stream(random() % 8, 0).value();
    const EventId event = runtime.events().create(EventKind::Extended, kEventSync | kEventTimeLine).value();
    uint64_t sum = 0;  // Written by both streams, in turns that the event orders.
    for (int turn = 0; turn < 20; ++turn) {
      EXPECT_OK(runtime.enqueue(a, [&sum]() -> Result<> { return ++sum, Result<>{}; }));
      EXPECT_OK(runtime.events().record(event, a));
      EXPECT_OK(runtime.events().wait(b, event));
      EXPECT_OK(runtime.enqueue(b, [&sum]() -> Result<> { return ++sum, Result<>{}; }));
      EXPECT_OK(runtime.events().record(event, b));
      EXPECT_OK(runtime.events().wait(a, event));
      if (random() % 4 == 0) (void)runtime.events().query_status(event);
      if (random() % 4 == 0) EXPECT_OK(runtime.events().record(shared, a));
      if (random() % 4 == 0) EXPECT_OK(runtime.events().wait(b, shared));
    }
    if (random() % 2 == 0)
      EXPECT_OK(runtime.launch_host_function(
          a, [](void* at) { ++*static_cast<uint64_t*>(at); }, &sum));
    EXPECT_OK(runtime.synchronize(b));
    EXPECT_OK(runtime.synchronize(a));
    EXPECT_GE(sum, 40U);
    Latch never;
    EXPECT_OK(runtime.enqueue_poll(a, never.poll()));
    EXPECT_OK(runtime.events().record(event, a));
    EXPECT_OK(runtime.events().wait(b, event));
    EXPECT_OK(runtime.destroy_stream(a, Remaining::Discard));
    EXPECT_OK(runtime.destroy_stream(b, random() % 2 == 0 ? Remaining::Finish : Remaining::Discard));
    EXPECT_OK(runtime.events().destroy(event));
    if (round % 10 == 0) EXPECT_OK(runtime.synchronize_device());
  }
  EXPECT_OK(runtime.reset_device(0));
}

TEST_P(StressTest, ManyThreadsStreamsAndEvents) {
  const EventId shared = make_event(EventKind::Extended, kEventSync);
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 6; ++seed)
    threads.emplace_back([&, seed] { worker(runtime, seed, shared); });
  for (auto& thread : threads) thread.join();
  EXPECT_OK(runtime.synchronize_device());
}

TEST_P(StressTest, ManyThreadsOnOneStream) {
  const StreamId stream = make_stream();
  const ContextId context = runtime.contexts().current_id().value();
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      EXPECT_OK(runtime.contexts().set_current(context));
      for (int task = 0; task < 500; ++task) {
        EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return ++ran, Result<>{}; }));
        if (task % 100 == 0) EXPECT_OK(runtime.synchronize(stream));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_EQ(ran, 2000);
}

// Handles that another thread destroys under one's hands give errors and nothing worse.
TEST_P(StressTest, UseWhileDestroyed) {
  const ContextId context = runtime.contexts().current_id().value();
  for (int round = 0; round < 50; ++round) {
    const StreamId stream = make_stream();
    const EventId event = make_event(EventKind::Extended, kEventSync);
    std::thread user([&] {
      EXPECT_OK(runtime.contexts().set_current(context));
      for (int call = 0; call < 50; ++call) {
        (void)runtime.enqueue(stream, []() -> Result<> { return {}; });
        (void)runtime.events().record(event, stream);
        (void)runtime.events().wait(stream, event);
        (void)runtime.synchronize(stream, 1000);
      }
    });
    EXPECT_OK(runtime.events().destroy(event));
    EXPECT_OK(runtime.destroy_stream(stream, round % 2 == 0 ? Remaining::Finish : Remaining::Discard));
    user.join();
  }
}

INSTANTIATE_MODES(StressTest);

}  // namespace
}  // namespace plat::stream
