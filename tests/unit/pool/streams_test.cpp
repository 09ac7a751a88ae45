#include <atomic>
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

}  // namespace
}  // namespace plat::test
