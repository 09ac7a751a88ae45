// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools: which freed memory a stream may have again, and what is given back when.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "malloc/pool_set.h"
#include "rules/rules.h"
#include "stream/stream.h"
#include "support/tiny_device.h"

namespace plat::malloc {
namespace {

using stream::StreamId;

struct Pools : ::testing::Test {
  testing::TinyDevice tiny;
  stream::Streams streams{stream::Options{}};
  PoolSet pools{tiny.heap};
  StreamId one, two;
  uint64_t pool = 0;

  void SetUp() override {
    ASSERT_TRUE(streams.set_device(0));
    one = streams.create_stream(0, 0).value();
    two = streams.create_stream(0, 0).value();
    pool = pools.create(device::BankId(0), 16_MiB).value();
  }
  void TearDown() override {
    gate = true;
    const auto waited = streams.synchronize_device();
    EXPECT_TRUE(waited || context_failed);
  }

  Va allocate(uint64_t size, StreamId stream) { return pools.allocate(pool, size, streams, stream).value(); }
  void allow(aclrtMemPoolAttr attribute) {
    const uint32_t on = 1;
    ASSERT_TRUE(pools.set(pool, attribute, &on));
  }
  uint64_t get(aclrtMemPoolAttr attribute) {
    uint64_t value = 0;
    EXPECT_TRUE(pools.get(pool, attribute, &value));
    return value;
  }
  // The stream stops here until the gate opens.
  void block(StreamId stream) {
    ASSERT_TRUE(streams.enqueue_poll(stream, [this]() -> Result<bool> { return gate.load(); }));
  }
  // The stream runs one piece of work until the gate opens.
  void run_until_gate(StreamId stream) {
    ASSERT_TRUE(streams.enqueue(stream, [this]() -> Result<> {
      is_running = true;
      while (!gate) std::this_thread::yield();
      return {};
    }));
    while (!is_running) std::this_thread::yield();
  }
  // Streams of this context take nothing more, because one of them has failed.
  void fail_context() {
    context_failed = true;
    ASSERT_TRUE(streams.set_failure_mode(two, 1));
    ASSERT_TRUE(streams.enqueue(two, []() -> Result<> { return fail(RuleId::PoolFree, "ptr", "planted"); }));
    while (streams.enqueue(one, []() -> Result<> { return {}; })) std::this_thread::yield();
  }
  void sync(StreamId stream) {
    ASSERT_TRUE(streams.synchronize(stream));
    pools.synchronized(streams);
  }

  std::atomic<bool> gate{false};
  std::atomic<bool> is_running{false};
  bool context_failed = false;
};

// The device has 64 MiB: what one pool keeps and nobody uses, another may have.
TEST_F(Pools, AFullDeviceTakesIdleMemoryOfOtherPools) {
  const uint64_t hoarder = pools.create(device::BankId(0), 64_MiB).value();
  const uint64_t keep = 64_MiB;
  ASSERT_TRUE(pools.set(hoarder, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &keep));
  std::vector<Va> blocks;
  for (int i = 0; i < 32; ++i) blocks.push_back(pools.allocate(hoarder, 2_MiB, streams, one).value());
  const auto refused = pools.allocate(pool, 2_MiB, streams, two);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, RuleId::PoolExhausted);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pools.free(blocks[static_cast<size_t>(i)], streams, one));
  sync(one);
  EXPECT_EQ(tiny.free_bytes(), 0U) << "kept below the threshold";
  const Va taken = allocate(6_MiB, two);
  // What is in use is never taken, and the pool's own limit stays one.
  EXPECT_FALSE(pools.allocate(pool, 6_MiB, streams, two));
  EXPECT_EQ(pools.allocate(pool, 12_MiB, streams, two).error().rule, RuleId::PoolExhausted);
  ASSERT_TRUE(pools.free(taken, streams, two));
  for (size_t i = 4; i < blocks.size(); ++i) ASSERT_TRUE(pools.free(blocks[i], streams, one));
  sync(one);
  sync(two);
  ASSERT_TRUE(pools.destroy(hoarder, streams));
  EXPECT_EQ(tiny.free_bytes(), 64_MiB);
}

TEST_F(Pools, TheSameStreamReusesAtOnce) {
  block(one);
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.free(first, streams, one));
  EXPECT_EQ(allocate(1, one), first);
  gate = true;
}

// Its context has failed: the stream takes nothing more, and still runs what it has.
TEST_F(Pools, AStreamThatTakesNoFreeKeepsTheBlockWhileItRuns) {
  allow(ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC);
  const Va first = allocate(2_MiB, one);
  run_until_gate(one);
  fail_context();
  ASSERT_TRUE(pools.free(first, streams, one));
  EXPECT_NE(allocate(2_MiB, two), first);
  gate = true;
  (void)streams.synchronize(one);
  EXPECT_EQ(allocate(2_MiB, two), first);
}

TEST_F(Pools, AnAllocationThatCannotBeQueuedLeavesTheBlockBehindItsWork) {
  allow(ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES);
  const Va first = allocate(16_MiB, one);  // all that the pool may have
  run_until_gate(one);
  ASSERT_TRUE(pools.free(first, streams, one));
  fail_context();
  EXPECT_FALSE(pools.allocate(pool, 16_MiB, streams, two));
  EXPECT_EQ(get(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 0U);
  EXPECT_FALSE(pools.allocate(pool, 16_MiB, streams, two)) << "the first stream still runs";
  gate = true;
  (void)streams.synchronize(one);
  pools.synchronized(streams);
  EXPECT_TRUE(pools.allocate(pool, 16_MiB, streams, two));
}

TEST_F(Pools, OtherStreamsDoNotReuseUnlessAllowed) {
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.free(first, streams, one));
  ASSERT_TRUE(streams.synchronize(one));
  EXPECT_NE(allocate(2_MiB, two), first);
}

TEST_F(Pools, SynchronisedMemoryIsAnybodys) {
  const uint64_t threshold = 16_MiB;
  ASSERT_TRUE(pools.set(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.free(first, streams, one));
  sync(one);
  EXPECT_EQ(allocate(2_MiB, two), first);
}

TEST_F(Pools, OpportunisticReuseNeedsCompletedWork) {
  allow(ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC);
  block(one);
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.free(first, streams, one));
  EXPECT_NE(allocate(2_MiB, two), first);
  gate = true;
  ASSERT_TRUE(streams.synchronize(one));
  EXPECT_EQ(allocate(2_MiB, two), first);
}

TEST_F(Pools, EventsLetAnotherStreamReuse) {
  allow(ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES);
  block(one);
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.free(first, streams, one));
  const Va before = allocate(2_MiB, two);
  EXPECT_NE(before, first);
  const auto event = streams.events().create(stream::EventKind::Plain, 0xB).value();
  ASSERT_TRUE(streams.events().record(event, one));
  ASSERT_TRUE(streams.events().wait(two, event));
  EXPECT_EQ(allocate(2_MiB, two), first);
  gate = true;
  ASSERT_TRUE(streams.synchronize(two));
}

TEST_F(Pools, InternalDependenciesMakeTheStreamWait) {
  allow(ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES);
  block(one);
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.free(first, streams, one));
  EXPECT_EQ(allocate(2_MiB, two), first);
  EXPECT_FALSE(streams.is_complete(two).value());
  gate = true;
  ASSERT_TRUE(streams.synchronize(two));
}

TEST_F(Pools, ThresholdDecidesWhatIsKeptAtSynchronisation) {
  const uint64_t before = tiny.free_bytes();
  ASSERT_TRUE(pools.free(allocate(4_MiB, one), streams, one));
  EXPECT_EQ(get(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 4_MiB);
  sync(one);
  EXPECT_EQ(get(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EQ(get(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 4_MiB);
  EXPECT_EQ(tiny.free_bytes(), before);
}

TEST_F(Pools, CopiesSeeBlocksUntilTheirFreeIsReached) {
  block(one);
  const Va first = allocate(2_MiB, one);
  int value = 3;
  ASSERT_TRUE(pools.free(first, streams, one));
  EXPECT_TRUE(tiny.mover.copy(first, va_of(&value), 4, 0));  // queued before the free, so to speak
  gate = true;
  ASSERT_TRUE(streams.synchronize(one));
  EXPECT_EQ(tiny.mover.copy(first, va_of(&value), 4, 0).error().rule, RuleId::CopyFreed);
}

// The usual life of a buffer: work is queued, the buffer is freed behind it, and the next, smaller one takes
// its place long before the work runs.
TEST_F(Pools, QueuedWorkMeansTheBlockOfItsTime) {
  block(one);
  const Va large = allocate(6_MiB, one);
  const std::vector<char> bytes(6_MiB, 7);
  const auto copy = [&](uint64_t size) {
    return [this, &bytes, large, size] { return tiny.mover.copy(large, va_of(bytes.data()), size, 0); };
  };
  ASSERT_TRUE(streams.enqueue(one, copy(6_MiB)));
  ASSERT_TRUE(pools.free(large, streams, one));
  ASSERT_EQ(allocate(2_MiB, one), large);
  ASSERT_TRUE(streams.enqueue(one, copy(2_MiB)));
  ASSERT_TRUE(pools.free(large, streams, one));
  ASSERT_EQ(allocate(4_MiB, one), large);
  ASSERT_TRUE(streams.enqueue(one, copy(4_MiB)));
  gate = true;
  EXPECT_TRUE(streams.synchronize(one));
  EXPECT_EQ(copy(6_MiB)().error().rule, RuleId::CopyPastEnd);
  EXPECT_TRUE(copy(4_MiB)());
}

TEST_F(Pools, ABlockFreedAtOnceNeverOpens) {
  block(one);
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.free(first, streams, one));
  ASSERT_EQ(allocate(2_MiB, one), first);
  ASSERT_TRUE(pools.free_now(first));
  gate = true;
  ASSERT_TRUE(streams.synchronize(one));
  int value = 3;
  EXPECT_EQ(tiny.mover.copy(first, va_of(&value), 4, 0).error().rule, RuleId::CopyFreed);
}

TEST_F(Pools, BlocksOfTheHeapAreFreedOnceInStreamOrder) {
  const Va block_of_heap = tiny.malloc(4_MiB).value();
  block(one);
  ASSERT_TRUE(pools.free(block_of_heap, streams, one));
  EXPECT_EQ(pools.free(block_of_heap, streams, two).error().rule, RuleId::PoolFree);
  EXPECT_TRUE(tiny.heap.find(block_of_heap));
  gate = true;
  EXPECT_TRUE(streams.synchronize(one));
  EXPECT_FALSE(tiny.heap.find(block_of_heap));
  EXPECT_EQ(pools.free(block_of_heap, streams, one).error().rule, RuleId::PoolFree);
}

// The stream may come to a free before the call that queues it goes on. By then the address may have another
// owner, and a free of that owner's may be queued.
TEST(PoolsAtOnce, AFreeThatIsReachedInsideItsCallKnowsItselfFromTheNextOne) {
  testing::TinyDevice tiny;
  stream::Options inside_calls;
  inside_calls.mode = stream::Mode::Eager;
  stream::Streams streams{inside_calls};
  PoolSet pools{tiny.heap};
  ASSERT_TRUE(streams.set_device(0));
  const StreamId first = streams.create_stream(0, 0).value();
  const StreamId next = streams.create_stream(0, 0).value();
  const StreamId held = streams.create_stream(0, 0).value();
  bool gate = false;
  // Further than the first stream will be: its position must not be taken for one of this stream.
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(streams.enqueue(held, []() -> Result<> { return {}; }));
  ASSERT_TRUE(streams.enqueue_poll(held, [&]() -> Result<bool> { return gate; }));
  const Va block = tiny.malloc(4_MiB).value();
  bool has_next_owner = false;
  stream::Clock::time_point last_look;
  ASSERT_TRUE(streams.enqueue_poll(next, [&]() -> Result<bool> {
    last_look = stream::Clock::now();
    return !tiny.heap.find(block);
  }));
  ASSERT_TRUE(streams.enqueue(next, [&]() -> Result<> {
    has_next_owner = tiny.malloc(4_MiB).value() == block && pools.free(block, streams, held);
    return {};
  }));
  // Nothing but the clock brings the second stream to look again, and it does so in the next call: this
  // thread is the only one.
  const auto is_due = last_look + stream::kPollPauseMax;
  while (stream::Clock::now() <= is_due) std::this_thread::yield();
  ASSERT_TRUE(pools.free(block, streams, first));
  ASSERT_TRUE(has_next_owner);
  const auto again = pools.free(block, streams, first);
  ASSERT_FALSE(again) << "it is queued already";
  EXPECT_EQ(again.error().rule, RuleId::PoolFree);
  EXPECT_TRUE(tiny.heap.find(block));
  gate = true;
  EXPECT_TRUE(streams.synchronize(held));
  EXPECT_FALSE(tiny.heap.find(block));
}

// The keys of a block of the heap end with it: when the free is reached, not when it is queued.
TEST_F(Pools, KeysOfAHeapBlockEndWhenTheFreeIsReached) {
  const Va in_heap = tiny.malloc(4_MiB).value();
  const std::string key = tiny.ipc.export_range(in_heap, 2_MiB, 0, 2_MiB).value();
  const std::array<int32_t, 1> somebody{1};
  block(one);
  ASSERT_TRUE(pools.free(in_heap, streams, one));
  EXPECT_TRUE(tiny.ipc.allow(key, somebody));
  gate = true;
  ASSERT_TRUE(streams.synchronize(one));
  EXPECT_FALSE(tiny.ipc.allow(key, somebody));
}

TEST_F(Pools, AStoppedContextStillTakesBlocksBack) {
  const auto context = streams.create_context(0).value();
  const StreamId stopped = streams.create_stream(0, 0).value();
  const Va first = allocate(2_MiB, stopped);
  ASSERT_TRUE(streams.set_failure_mode(stopped, 1));
  ASSERT_TRUE(streams.enqueue(stopped, [] { return Result<>(fail(RuleId::CopyHole, "dst", "made up")); }));
  ASSERT_FALSE(streams.synchronize(stopped));
  EXPECT_TRUE(pools.free(first, streams, stopped));
  int value = 3;
  EXPECT_EQ(tiny.mover.copy(first, va_of(&value), 4, 0).error().rule, RuleId::CopyFreed);
  ASSERT_TRUE(streams.destroy_context(context));
  ASSERT_TRUE(streams.set_device(0));
}

TEST_F(Pools, ChunksSplitAndMerge) {
  const Va whole = allocate(8_MiB, one);
  ASSERT_TRUE(pools.free(whole, streams, one));
  const Va left = allocate(2_MiB, one);
  const Va right = allocate(6_MiB, one);
  EXPECT_EQ(left, whole);
  EXPECT_EQ(right, whole + 2_MiB);
  ASSERT_TRUE(pools.free(left, streams, one));
  ASSERT_TRUE(pools.free(right, streams, one));
  EXPECT_EQ(allocate(8_MiB, one), whole);
  EXPECT_EQ(get(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 8_MiB);
}

TEST_F(Pools, AFullDeviceTakesBackWhatPoolsHold) {
  ASSERT_TRUE(pools.free(allocate(16_MiB, one), streams, one));
  ASSERT_TRUE(streams.synchronize(one));
  const auto whole_device =
      request_for(tiny.node.product(), Call::Align32, 64_MiB, ACL_MEM_MALLOC_HUGE_ONLY).value();
  const auto take = [&](const DeviceHeap::MakeRoom& make_room) {
    return tiny.heap.allocate(whole_device, device::BankId(0), kModuleApp, Family::Device, make_room);
  };
  EXPECT_EQ(take(nullptr).error().rule, RuleId::OutOfMemory);
  EXPECT_TRUE(take([&] { return pools.reclaim(device::BankId(0), streams); }));
}

TEST_F(Pools, DestroyedPoolsKeepTheirLiveBlocks) {
  const Va first = allocate(2_MiB, one);
  ASSERT_TRUE(pools.destroy(pool, streams));
  int value = 3;
  EXPECT_TRUE(tiny.mover.copy(first, va_of(&value), 4, 0));
  ASSERT_TRUE(pools.free(first, streams, one));
  sync(one);
  EXPECT_EQ(tiny.free_bytes(), 64_MiB);
}

}  // namespace
}  // namespace plat::malloc
