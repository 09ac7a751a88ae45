// SPDX-License-Identifier: Apache-2.0
// Callbacks that a thread of the client's runs.
#include <stdexcept>

#include "fixture.h"

namespace plat::stream {
namespace {

class CallbacksTest : public StreamTest {
 protected:
  static constexpr uint64_t kThread = 77;

  // Serves reports until the subscription ends.
  void serve() {
    for (;;) {
      auto result = runtime.callbacks().process(kThread, 20);
      if (!result && result.error().rule == RuleId::ReportThread) return;
    }
  }
};

void add_one(void* at) { ++*static_cast<std::atomic<int>*>(at); }

TEST_P(CallbacksTest, CallbacksRunInTheSubscribedThreadInOrder) {
  const StreamId stream = make_stream();
  EXPECT_OK(runtime.callbacks().subscribe(kThread, stream));
  std::thread server([&] { serve(); });
  struct State {
    std::thread::id server;
    int value = 0;
    bool elsewhere = false;
  } state{server.get_id()};
  for (int round = 0; round < 20; ++round) {
    EXPECT_OK(runtime.enqueue(stream, [&]() -> Result<> { return state.value += 1, Result<>{}; }));
    EXPECT_OK(runtime.callbacks().launch(
        stream,
        [](void* at) {
          auto& self = *static_cast<State*>(at);
          self.elsewhere |= std::this_thread::get_id() != self.server;
          self.value *= 2;
        },
        &state, true));
  }
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_FALSE(state.elsewhere);
  EXPECT_EQ(state.value, 2097150);  // x -> 2(x+1), twenty times from 0: nothing overtook a blocking callback.
  EXPECT_OK(runtime.callbacks().unsubscribe(kThread, stream));
  server.join();
}

TEST_P(CallbacksTest, StreamDoesNotWaitForACallbackThatDoesNotBlock) {
  const StreamId stream = make_stream();
  std::atomic<int> ran{0};
  EXPECT_OK(runtime.callbacks().subscribe(kThread, stream));
  EXPECT_OK(runtime.callbacks().launch(stream, add_one, &ran, false));
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_EQ(ran, 0);
  EXPECT_OK(runtime.callbacks().process(kThread, -1));
  EXPECT_EQ(ran, 1);
  EXPECT_BREAKS(ReportTimeout, runtime.callbacks().process(kThread, 5));
}

TEST_P(CallbacksTest, StreamWaitsForACallbackThatBlocks) {
  const StreamId stream = make_stream();
  std::atomic<int> ran{0};
  EXPECT_OK(runtime.callbacks().subscribe(kThread, stream));
  EXPECT_OK(runtime.callbacks().launch(stream, add_one, &ran, true));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(stream, 5));
  EXPECT_OK(runtime.callbacks().process(kThread, 1000));
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_EQ(ran, 1);
}

TEST_P(CallbacksTest, ACallbackThatThrowsStillLetsTheStreamGoOn) {
  const StreamId stream = make_stream();
  EXPECT_OK(runtime.callbacks().subscribe(kThread, stream));
  EXPECT_OK(runtime.callbacks().launch(
      stream, [](void*) { throw std::runtime_error("the client's"); }, nullptr, true));
  EXPECT_BREAKS(CallbackReturn, runtime.callbacks().process(kThread, -1));
  EXPECT_OK(runtime.synchronize(stream));
}

TEST_P(CallbacksTest, SubscriptionsAreChecked) {
  const StreamId stream = make_stream();
  std::atomic<int> ran{0};
  EXPECT_BREAKS(CallbackUnserved, runtime.callbacks().launch(stream, add_one, &ran, true));
  EXPECT_BREAKS(ReportThread, runtime.callbacks().process(kThread, 1));
  EXPECT_BREAKS(ReportTimeoutValue, runtime.callbacks().process(kThread, 0));
  EXPECT_BREAKS(SubscribeMissing, runtime.callbacks().unsubscribe(kThread, stream));
  EXPECT_OK(runtime.callbacks().subscribe(kThread, stream));
  EXPECT_BREAKS(SubscribeTwice, runtime.callbacks().subscribe(kThread + 1, stream));
  EXPECT_BREAKS(SubscribeMissing, runtime.callbacks().unsubscribe(kThread + 1, stream));
  EXPECT_BREAKS(CallbackFunction, runtime.callbacks().launch(stream, nullptr, nullptr, true));
  EXPECT_OK(runtime.callbacks().subscribe(kThread, make_stream()));  // One thread, many streams.
  EXPECT_OK(runtime.create_context(1));
  EXPECT_BREAKS(SubscribeDevice, runtime.callbacks().subscribe(kThread, make_stream()));
}

TEST_P(CallbacksTest, ThreadsAreLimited) {
  for (uint64_t thread = 0; thread < 1024; ++thread)
    EXPECT_OK(runtime.callbacks().subscribe(thread + 1, make_stream()));
  EXPECT_BREAKS(SubscribeLimit, runtime.callbacks().subscribe(5000, make_stream()));
  EXPECT_OK(runtime.callbacks().subscribe(1, make_stream()));
}

TEST_P(CallbacksTest, UnsubscribingTooEarlyIsAnErrorOfTheStream) {
  const StreamId stream = make_stream();
  std::atomic<int> ran{0};
  EXPECT_OK(runtime.callbacks().subscribe(kThread, stream));
  EXPECT_OK(runtime.callbacks().launch(stream, add_one, &ran, true));
  EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(stream, 5));
  EXPECT_OK(runtime.callbacks().unsubscribe(kThread, stream));
  EXPECT_BREAKS(CallbackLost, runtime.synchronize(stream));
  EXPECT_EQ(ran, 0);
}

TEST_P(CallbacksTest, DestroyingTheStreamEndsItsSubscription) {
  const StreamId stream = make_stream();
  EXPECT_OK(runtime.callbacks().subscribe(kThread, stream));
  EXPECT_OK(runtime.destroy_stream(stream, Remaining::Finish));
  EXPECT_BREAKS(ReportThread, runtime.callbacks().process(kThread, 1));
}

INSTANTIATE_MODES(CallbacksTest);

}  // namespace
}  // namespace plat::stream
