// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

TEST_F(PoolTest, ReusesOnTheSameStreamAtOnce) {
  device().streams_finish = false;
  create();
  for (uint64_t bytes : {200ul, 5_MiB}) {
    void* block = take(bytes, stream(1));
    plat_pool_free_on(pool, block, stream(1));
    EXPECT_EQ(take(bytes, stream(1)), block);
  }
  EXPECT_EQ(device().events_recorded, 0u);
  EXPECT_EQ(device().synchronizes, 0u);
}

TEST_F(PoolTest, KeepsOtherStreamsAwayUntilTheStreamHasPassed) {
  device().streams_finish = false;
  create();
  void* block = take(5_MiB, stream(1));
  plat_pool_free_on(pool, block, stream(1));
  void* elsewhere = take(5_MiB, stream(2));
  EXPECT_NE(elsewhere, block);
  plat_pool_free(pool, elsewhere);
  device().finish();
  take(5_MiB, stream(2));
  // The next miss asks the device, which has passed by now.
  take(5_MiB, stream(2));
  EXPECT_LE(stats().reserved_bytes, 12_MiB);
  EXPECT_EQ(device().synchronizes, 0u);
}

TEST_F(PoolTest, WaitsForAStreamRatherThanFail) {
  device().streams_finish = false;
  create();
  plat_pool_free_on(pool, take(40_MiB, stream(1)), stream(1));
  EXPECT_NE(take(40_MiB, stream(2)), nullptr);
  EXPECT_GT(device().synchronizes, 0u);
}

TEST_F(PoolTest, MakesTheStreamWaitInsteadIfAllowed) {
  device().streams_finish = false;
  options.reuse_waits = 1;
  create();
  plat_pool_free_on(pool, take(40_MiB, stream(1)), stream(1));
  EXPECT_NE(take(40_MiB, stream(2)), nullptr);
  EXPECT_EQ(device().synchronizes, 0u);
  EXPECT_GT(device().stream_waits, 0u);
}

TEST_F(PoolTest, HoldsABlockThatAnotherStreamUses) {
  device().streams_finish = false;
  create();
  for (uint64_t bytes : {300ul, 5_MiB}) {
    void* block = take(bytes, stream(1));
    ASSERT_EQ(plat_pool_use_on(pool, block, stream(2)), PLAT_POOL_OK);
    plat_pool_free_on(pool, block, stream(1));
    EXPECT_NE(take(bytes, stream(1)), block);
    device().finish();
    EXPECT_EQ(take(bytes, stream(1)), block);
  }
}

TEST_F(PoolTest, RecordsNoEventOnAStreamThatHasEnded) {
  create();
  void* block = take(5_MiB, stream(1));
  ASSERT_EQ(plat_pool_use_on(pool, block, stream(2)), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_forget_stream(pool, stream(2)), PLAT_POOL_OK);
  EXPECT_GT(device().synchronizes, 0u) << "what is queued there may use the block";
  EXPECT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(device().events_recorded, 0u);
  EXPECT_EQ(take(5_MiB, stream(1)), block);
}

TEST_F(PoolTest, GivesBackWhatWaitedForAStreamOnTrim) {
  device().streams_finish = false;
  create();
  void* block = take(5_MiB);
  ASSERT_EQ(plat_pool_use_on(pool, block, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  plat_pool_trim(pool, 0);
  EXPECT_EQ(stats().reserved_bytes, 6_MiB);
  device().finish();
  plat_pool_trim(pool, 0);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

TEST_F(PoolTest, NotesNoUseOfWhatIsNoBlock) {
  create();
  void* block = take(5_MiB);
  EXPECT_EQ(plat_pool_use_on(pool, static_cast<char*>(block) + 512, stream(2)), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_use_on(pool, &block, stream(2)), PLAT_POOL_NOT_OWNED);
  plat_pool_free(pool, block);
  EXPECT_EQ(plat_pool_use_on(pool, block, stream(2)), PLAT_POOL_NOT_OWNED);
}

TEST_F(PoolTest, LetsGoOfAStreamThatEnds) {
  create();
  plat_pool_free_on(pool, take(5_MiB, stream(1)), stream(1));
  plat_pool_free_on(pool, take(500, stream(1)), stream(1));
  plat_pool_forget_stream(pool, stream(1));
  plat_pool_trim(pool, 0);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

// A small block comes from spans, which are no stream's: a stream that may wait for others does not change
// that.
TEST_F(PoolTest, WaitsOnlyForWhoAsked) {
  device().streams_finish = false;
  options.limit_bytes = 4_MiB;
  options.reuse_waits = 1;
  create();
  void* block = take(3_MiB, stream(1));
  ASSERT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_OK);  // stream 1 still works on it
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(take(30000, stream(2)));
  EXPECT_GT(device().synchronizes, 0u) << "it has to wait before anybody gets the memory";
}

// A block that another thread keeps for the stream is filed under nobody, not under a stream that is gone.
TEST_F(PoolTest, ForgetsAStreamInEveryThread) {
  device().streams_finish = false;
  create();
  std::atomic<int> stage{0};
  std::thread other([&] {
    void* block = take(100, stream(1));
    plat_pool_free_on(pool, block, stream(1));
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  ASSERT_EQ(plat_pool_forget_stream(pool, stream(1)), PLAT_POOL_OK);
  const uint64_t recorded = device().events_recorded;
  const uint64_t waits = device().synchronizes;
  stage = 2;
  other.join();  // returns what it kept
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 0u);
  EXPECT_EQ(device().events_recorded, recorded);
  EXPECT_EQ(device().synchronizes, waits);
}

TEST_F(PoolTest, NeedsNoEventForAStreamThatIsIdle) {
  create();
  void* block = take(4_MiB, stream(1));
  ASSERT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(stats().cached_bytes, 4_MiB + 2048);
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 0u);
  EXPECT_EQ(device().events_recorded, 0u);
}

TEST_F(PoolTest, GivesBackAtOnceWhatAStreamHasPassed) {
  options.release = PLAT_POOL_RELEASE_NOW;
  create();
  void* block = take(4_MiB, stream(1));
  ASSERT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

// A stream that was destroyed has finished: what was freed on it comes back, and it is asked no more.
class PoolWithDeadStreams : public PoolTest {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    device().streams_finish = false;
    create();
  }
  void destroy(int number) { device().gone_streams.insert(stream(number)); }
  void expect_all_back() {
    EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK) << plat_pool_last_error();
    EXPECT_EQ(stats().reserved_bytes, 0u);
    EXPECT_EQ(stats().cached_bytes, 0u);
  }
};

TEST_F(PoolWithDeadStreams, GetsBackWhatWasFreedBefore) {
  for (uint64_t bytes : {500ul, 5_MiB}) plat_pool_free_on(pool, take(bytes, stream(1)), stream(1));
  destroy(1);
  expect_all_back();
}

TEST_F(PoolWithDeadStreams, GetsBackWhatIsFreedAfterwards) {
  for (uint64_t bytes : {500ul, 40000ul, 5_MiB}) {
    void* block = take(bytes, stream(1));
    destroy(1);
    ASSERT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_OK) << plat_pool_last_error();
    expect_all_back();
    // Once it has noticed, it still remembers whose block it was.
    device().gone_streams.clear();
    block = take(bytes);
    void* late = take(bytes, stream(1));
    plat_pool_forget_stream(pool, stream(1));
    destroy(1);
    ASSERT_EQ(plat_pool_free_on(pool, late, stream(1)), PLAT_POOL_OK) << plat_pool_last_error();
    ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    expect_all_back();
    device().gone_streams.clear();
  }
}

TEST_F(PoolWithDeadStreams, AsksThemOnce) {
  plat_pool_free_on(pool, take(5_MiB, stream(1)), stream(1));
  destroy(1);
  void* block = take(5_MiB, stream(2));
  const uint64_t asked = device().stale_calls;
  EXPECT_LE(asked, 2u);
  for (int i = 0; i < 100; ++i) {
    plat_pool_free_on(pool, block, stream(2));
    plat_pool_trim(pool, 0);
    block = take(5_MiB, stream(3));
    plat_pool_free_on(pool, block, stream(3));
    block = take(6_MiB, stream(2));
  }
  EXPECT_EQ(device().stale_calls, asked);
}

TEST_F(PoolWithDeadStreams, ForgetsThemAndResets) {
  plat_pool_free_on(pool, take(5_MiB, stream(1)), stream(1));
  destroy(1);
  EXPECT_EQ(plat_pool_forget_stream(pool, stream(1)), PLAT_POOL_OK) << plat_pool_last_error();
  expect_all_back();
  plat_pool_free_on(pool, take(5_MiB, stream(2)), stream(2));
  destroy(2);
  EXPECT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
  expect_all_back();
}

TEST_F(PoolWithDeadStreams, WaitsForNoneOfTheOthersThatUsedABlock) {
  void* block = take(5_MiB, stream(1));
  ASSERT_EQ(plat_pool_use_on(pool, block, stream(2)), PLAT_POOL_OK);
  destroy(2);
  ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  expect_all_back();
}

TEST_F(PoolWithDeadStreams, LeaveRoomForOthers) {
  for (int number = 0; number < 1000; ++number) {
    plat_pool_free_on(pool, take(3_MiB, stream(number)), stream(number));
    destroy(number);
    void* block = take(3_MiB);  // a miss, which asks
    ASSERT_NE(block, nullptr);
    plat_pool_free(pool, block);
    plat_pool_trim(pool, 0);
  }
  EXPECT_EQ(device().synchronizes, 0u);
}

// The pool has never met it, and the device does not know it: a mistake, and the block stays the caller's.
TEST_F(PoolWithDeadStreams, RefusesAStreamThatNeverWas) {
  destroy(7);
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  for (plat_pool* each : {pool, guarded})
    for (uint64_t bytes : {500ul, 5_MiB}) {
      void* block = nullptr;
      EXPECT_EQ(plat_pool_alloc_on(each, bytes, stream(7), &block), PLAT_POOL_INVALID);
      EXPECT_NE(std::string(plat_pool_last_error()).find("no stream"), std::string::npos);
      ASSERT_EQ(plat_pool_alloc(each, bytes, &block), PLAT_POOL_OK);
      EXPECT_EQ(plat_pool_use_on(each, block, stream(7)), PLAT_POOL_INVALID);
      EXPECT_EQ(plat_pool_free_on(each, block, stream(7)), PLAT_POOL_INVALID);
      EXPECT_EQ(plat_pool_usable(each, block, nullptr, nullptr), PLAT_POOL_OK) << "it lives on";
      EXPECT_EQ(plat_pool_free(each, block), PLAT_POOL_OK);
    }
  EXPECT_EQ(plat_pool_destroy(guarded), PLAT_POOL_OK);
  expect_all_back();
}

TEST_F(PoolWithDeadStreams, KnowsThemForMemoryOfEveryPurpose) {
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_for(pool, 1_MiB, PLAT_POOL_HOST, &block), PLAT_POOL_OK);
  plat_pool_free_on(pool, take(5_MiB, stream(1)), stream(1));
  destroy(1);
  EXPECT_EQ(plat_pool_free_on(pool, block, stream(1)), PLAT_POOL_OK) << plat_pool_last_error();
  expect_all_back();
}

}  // namespace
}  // namespace plat::test
