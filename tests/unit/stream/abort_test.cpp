// SPDX-License-Identifier: Apache-2.0
// Streams that are aborted and stopped, in every mode.
#include <map>

#include "fixture.h"

namespace plat::stream {
namespace {

class Aborting : public ::testing::TestWithParam<Mode> {
 protected:
  Aborting() : streams_(options_for(GetParam())) { EXPECT_TRUE(streams_.set_device(0)); }

  StreamId make() {
    auto stream = streams_.create_stream(0, 0);
    EXPECT_TRUE(stream);
    return *stream;
  }
  Task adds(int number) {
    return [this, number]() -> Result<> {
      ran_.push_back(number);
      return {};
    };
  }

  std::vector<int> ran_;
  Streams streams_;
};

TEST_P(Aborting, WhatWaitsEndsAndWhatIsQueuedIsDropped) {
  const StreamId stream = make();
  Latch latch;
  ASSERT_TRUE(streams_.enqueue(stream, adds(1)));
  ASSERT_TRUE(streams_.synchronize(stream));
  ASSERT_TRUE(streams_.enqueue_poll(stream, latch.poll()));
  ASSERT_TRUE(streams_.enqueue(stream, adds(2)));
  ASSERT_TRUE(streams_.abort_stream(stream));
  ASSERT_TRUE(streams_.synchronize(stream));
  ASSERT_TRUE(streams_.enqueue(stream, adds(3)));
  ASSERT_TRUE(streams_.synchronize(stream));
  EXPECT_EQ(ran_, (std::vector<int>{1, 3}));
}

TEST_P(Aborting, NoWorkIsTakenMeanwhile) {
  const StreamId stream = make();
  auto found = streams_.any_stream(stream);
  ASSERT_TRUE(found);
  (*found)->begin_abort(RuleId::StreamAborted);
  (*found)->begin_abort(RuleId::DeviceAborting);  // the device's tasks, at the same time
  auto refused = streams_.enqueue(stream, adds(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, RuleId::DeviceAborting);
  (*found)->end_abort();
  EXPECT_FALSE(streams_.enqueue(stream, adds(1)));
  (*found)->end_abort();
  EXPECT_TRUE(streams_.enqueue(stream, adds(1)));
  EXPECT_TRUE(streams_.synchronize(stream));
}

TEST_P(Aborting, ErrorsOfWhatWasGivenUpAreForgotten) {
  const StreamId stream = make();
  ASSERT_TRUE(
      streams_.enqueue(stream, []() -> Result<> { return fail(RuleId::DeviceInternal, "", "planned"); }));
  while (!*streams_.is_complete(stream)) std::this_thread::yield();
  ASSERT_TRUE(streams_.abort_stream(stream));
  EXPECT_TRUE(streams_.synchronize(stream));
}

// The stream still runs for a moment when its last item is done: nothing stands there that could be stopped.
TEST_P(Aborting, StoppingWhileTheLastWorkEndsWaitsForNothing) {
  const StreamId stream = make();
  for (int round = 0; round < 2000; ++round) {
    ASSERT_TRUE(streams_.enqueue(stream, []() -> Result<> { return {}; }));
    do ASSERT_TRUE(streams_.stop_stream(stream));
    while (!*streams_.is_complete(stream));
    ASSERT_TRUE(streams_.stop_stream(stream));
    ASSERT_TRUE(streams_.synchronize(stream));
  }
}

TEST_P(Aborting, WhoWaitsForALostMarkHangsUntilItIsAbortedToo) {
  const StreamId recorder = make(), waiter = make();
  auto event = streams_.events().create(EventKind::Plain, 0);
  ASSERT_TRUE(event);
  Latch latch;
  ASSERT_TRUE(streams_.enqueue_poll(recorder, latch.poll()));
  ASSERT_TRUE(streams_.events().record(*event, recorder));
  ASSERT_TRUE(streams_.events().wait(waiter, *event));
  ASSERT_TRUE(streams_.enqueue(waiter, adds(1)));
  ASSERT_TRUE(streams_.abort_stream(recorder));
  const auto waited = streams_.synchronize(waiter, 5);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().rule, RuleId::StreamSyncTimeout);
  EXPECT_FALSE(*streams_.events().query_status(*event));
  ASSERT_TRUE(streams_.abort_stream(waiter));
  EXPECT_TRUE(streams_.synchronize(waiter));
  EXPECT_TRUE(ran_.empty());
  ASSERT_TRUE(streams_.events().record(*event, recorder));
  EXPECT_TRUE(streams_.events().synchronize(*event));
}

TEST_P(Aborting, AFunctionCannotAbortItsOwnStream) {
  const StreamId stream = make();
  struct Call {
    Streams& streams;
    StreamId stream;
    RuleId rule{};
  } call{streams_, stream};
  ASSERT_TRUE(streams_.launch_host_function(
      stream,
      [](void* argument) {
        auto& own = *static_cast<Call*>(argument);
        auto found = own.streams.any_stream(own.stream);
        own.rule = (*found)->runs_here() ? RuleId::StreamSelfWait : RuleId::DeviceInternal;
      },
      &call));
  ASSERT_TRUE(streams_.synchronize(stream));
  EXPECT_EQ(call.rule, RuleId::StreamSelfWait);
}

TEST_P(Aborting, StoppingEndsTheHeadAlone) {
  const StreamId stream = make();
  Latch latch;
  ASSERT_TRUE(streams_.enqueue_poll(stream, latch.poll()));
  ASSERT_TRUE(streams_.enqueue(stream, adds(1)));
  // A stream that nobody has begun to run has nothing to stop.
  while (!*streams_.is_complete(stream)) ASSERT_TRUE(streams_.stop_stream(stream));
  const auto waited = streams_.synchronize(stream);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().rule, RuleId::StreamAborted);
  EXPECT_EQ(ran_, (std::vector<int>{1}));
}

// Two threads that queue, one that aborts: every task runs once or never, in order, and the stream works on.
TEST_P(Aborting, ThreadsMayAbortAndQueueAtOnce) {
  const StreamId stream = make();
  const auto context = streams_.contexts().current_id();
  ASSERT_TRUE(context);
  std::atomic<bool> end{false};
  std::vector<uint64_t> ran;  // of the stream alone
  std::atomic<uint64_t> next{1};
  const auto queue = [&] {
    ASSERT_TRUE(streams_.contexts().set_current(*context));
    while (!end) {
      const uint64_t number = next.fetch_add(1);
      const auto given = streams_.enqueue(stream, [&ran, number]() -> Result<> {
        ran.push_back(number);
        return {};
      });
      if (!given) {
        EXPECT_EQ(given.error().rule, RuleId::StreamAborted);
      }
    }
  };
  std::thread one(queue), other(queue);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(streams_.abort_stream(stream));
  end = true;
  one.join();
  other.join();
  ASSERT_TRUE(streams_.synchronize(stream));
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(std::adjacent_find(ran.begin(), ran.end()), ran.end());
  ASSERT_TRUE(streams_.enqueue(stream, adds(1)));
  ASSERT_TRUE(streams_.synchronize(stream));
  EXPECT_EQ(ran_, (std::vector<int>{1}));
}

INSTANTIATE_TEST_SUITE_P(Modes, Aborting, ::testing::Values(Mode::Pool, Mode::Eager, Mode::Seeded),
                         [](const auto& mode) { return mode_name(mode.param); });

}  // namespace
}  // namespace plat::stream
