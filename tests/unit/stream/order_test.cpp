// SPDX-License-Identifier: Apache-2.0
// What is known about order, and a property test: random graphs of streams and events complete in an order
// that their dependencies allow, in every mode.
#include "fixture.h"

#include <random>

namespace plat::stream {
namespace {

using OrderTest = StreamTest;

TEST_P(OrderTest, KnowsWhatCompleted) {
  const StreamId stream = make_stream();
  Latch latch;
  const Position first = runtime.enqueue(stream, []() -> Result<> { return {}; }).value();
  const Position second = runtime.enqueue_poll(stream, latch.poll()).value();
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(runtime.position(stream).value(), second);
  // As often as a loaded machine needs to get to the first.
  do EXPECT_BREAKS(StreamSyncTimeout, runtime.synchronize(stream, 5));
  while (!runtime.has_completed(stream, first));
  EXPECT_FALSE(runtime.has_completed(stream, second));
  latch.open();
  EXPECT_OK(runtime.synchronize(stream));
  EXPECT_TRUE(runtime.has_completed(stream, second));
  EXPECT_OK(runtime.destroy_stream(stream, Remaining::Finish));
  EXPECT_TRUE(runtime.has_completed(stream, second));
}

TEST_P(OrderTest, KnowsWhatRunsAfterWhatThroughEvents) {
  const StreamId a = make_stream();
  const StreamId b = make_stream();
  const StreamId c = make_stream();
  Latch latch;
  const Position before = runtime.enqueue_poll(a, latch.poll()).value();
  EXPECT_TRUE(runtime.runs_after(a, a, before));
  EXPECT_FALSE(runtime.runs_after(b, a, before));
  const EventId first = make_event(EventKind::Extended, kEventSync);
  EXPECT_OK(runtime.events().record(first, a));
  const Position after = runtime.enqueue(a, []() -> Result<> { return {}; }).value();
  EXPECT_OK(runtime.events().wait(b, first));
  EXPECT_TRUE(runtime.runs_after(b, a, before));
  EXPECT_FALSE(runtime.runs_after(b, a, after));  // Queued after the record.
  EXPECT_FALSE(runtime.runs_after(c, a, before));
  const EventId second = make_event(EventKind::Extended, kEventSync);
  EXPECT_OK(runtime.events().record(second, b));
  EXPECT_OK(runtime.events().wait(c, second));
  EXPECT_TRUE(runtime.runs_after(c, a, before));  // Through b.
  EXPECT_FALSE(runtime.runs_after(c, a, after));
  latch.open();
  EXPECT_OK(runtime.synchronize(a));
  EXPECT_TRUE(runtime.runs_after(c, a, after));  // It has completed.
}

TEST_P(OrderTest, AWaitThatMayGiveUpProvesNothing) {
  const StreamId a = make_stream();
  const StreamId b = make_stream();
  const EventId event = make_event();
  Latch latch;
  const Position position = runtime.enqueue_poll(a, latch.poll()).value();
  EXPECT_OK(runtime.events().record(event, a));
  EXPECT_OK(runtime.events().wait(b, event, 60));
  EXPECT_FALSE(runtime.runs_after(b, a, position));
  latch.open();
  EXPECT_OK(runtime.synchronize(b));
}

// Each task notes a ticket when it runs. For every pair that the graph orders, directly in a stream or
// through a record and a wait, the earlier ticket must be the smaller; and what runs_after claims must hold
// as well.
TEST_P(OrderTest, RandomGraphsRespectTheirDependencies) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const size_t stream_count = 2 + random() % 6;
    std::vector<StreamId> streams(stream_count);
    for (auto& stream : streams) stream = make_stream();
    std::vector<EventId> events(4);
    for (auto& event : events) event = make_event(EventKind::Extended, kEventSync);

    struct Node {
      size_t stream;
      Position position;
      std::vector<size_t> after;  // indexes of nodes
      std::atomic<uint64_t> ticket{0};
    };
    std::vector<std::unique_ptr<Node>> nodes;
    auto tickets = std::make_shared<std::atomic<uint64_t>>(0);
    std::vector<std::vector<size_t>> frontier(stream_count);   // what the stream's next task follows
    std::vector<std::vector<size_t>> recorded(events.size());  // what an event's last record follows
    for (int action = 0; action < 200; ++action) {
      const size_t stream = random() % stream_count;
      const size_t event = random() % events.size();
      switch (random() % 4) {
        case 0:
          EXPECT_OK(runtime.events().record(events[event], streams[stream]));
          recorded[event] = frontier[stream];
          break;
        case 1:
          EXPECT_OK(runtime.events().wait(streams[stream], events[event]));
          frontier[stream].insert(frontier[stream].end(), recorded[event].begin(), recorded[event].end());
          for (const size_t earlier : recorded[event]) {
            EXPECT_TRUE(runtime.runs_after(streams[stream], streams[nodes[earlier]->stream],
                                           nodes[earlier]->position));
          }
          break;
        default: {
          auto& node = *nodes.emplace_back(std::make_unique<Node>());
          node.stream = stream;
          node.after = frontier[stream];
          node.position = runtime
                              .enqueue(streams[stream],
                                       [&node, tickets]() -> Result<> {
                                         node.ticket = ++*tickets;
                                         return {};
                                       })
                              .value();
          frontier[stream] = {nodes.size() - 1};
        }
      }
    }
    EXPECT_OK(runtime.synchronize_device());
    for (const auto& node : nodes) {
      EXPECT_NE(node->ticket, 0U);
      for (const size_t earlier : node->after) EXPECT_LT(nodes[earlier]->ticket, node->ticket);
    }
    for (const StreamId stream : streams) EXPECT_OK(runtime.destroy_stream(stream, Remaining::Finish));
    for (const EventId event : events) EXPECT_OK(runtime.events().destroy(event));
  }
}

INSTANTIATE_MODES(OrderTest);

}  // namespace
}  // namespace plat::stream
