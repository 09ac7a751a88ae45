// SPDX-License-Identifier: Apache-2.0
// Decorators: limits, statistics, guards, traces, and stacks of them.
#include <cstring>
#include <fstream>
#include <utility>

#include "pool_fixture.h"

namespace plat::test {
namespace {

TEST_F(PoolTest, StacksDecorators) {
  create();
  plat_pool* limited = nullptr;
  plat_pool* guarded = nullptr;
  plat_pool* faulty = nullptr;
  ASSERT_EQ(plat_pool_with_limit(pool, 1_MiB, &limited), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_guards(limited, 512, &guarded), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_faults(guarded, 2, 0, &faulty), PLAT_POOL_OK);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(plat_pool_alloc(faulty, 1000, &first), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(faulty, 1000, &second), PLAT_POOL_QUOTA);
  ASSERT_EQ(plat_pool_alloc(faulty, 1000, &second), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(faulty, 1_MiB, &second), PLAT_POOL_QUOTA);
  static_cast<char*>(first)[1100] = 1;
  EXPECT_EQ(plat_pool_free(faulty, first), PLAT_POOL_CORRUPT);
  EXPECT_NE(std::string(plat_pool_last_error()).find("100 bytes past its end"), std::string::npos)
      << plat_pool_last_error();
  for (plat_pool* each : {faulty, guarded, limited}) plat_pool_destroy(each);
}

TEST_F(PoolTest, PoisonsNewBlocksAndFreedOnes) {
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 100, &guarded), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_aligned(guarded, 1_MiB, 4096, &block), PLAT_POOL_OK);
  auto* bytes = static_cast<unsigned char*>(block);
  EXPECT_EQ(reinterpret_cast<uint64_t>(block) % 4096, 0u);
  EXPECT_EQ(bytes[0], 0xCD);
  EXPECT_EQ(bytes[1_MiB - 1], 0xCD);
  EXPECT_EQ(plat_pool_free(guarded, block), PLAT_POOL_OK);
  EXPECT_EQ(bytes[0], 0xDD) << "its page is still there";
  ASSERT_EQ(plat_pool_alloc(guarded, 100, &block), PLAT_POOL_OK);
  static_cast<char*>(block)[-1] = 1;
  EXPECT_EQ(plat_pool_free(guarded, block), PLAT_POOL_CORRUPT);
  EXPECT_NE(std::strstr(plat_pool_last_error(), "1 bytes before its start"), nullptr)
      << plat_pool_last_error();
  plat_pool_destroy(guarded);
}

TEST_F(PoolTest, GuardsWaitForWhoeverMayStillUseTheMemory) {
  device().streams_finish = false;
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  auto waits = [before = uint64_t{0}]() mutable {
    return device().synchronizes - std::exchange(before, device().synchronizes);
  };
  ASSERT_EQ(plat_pool_free_on(pool, take(3_MiB, stream(1)), stream(1)), PLAT_POOL_OK);
  waits();
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_on(guarded, 1_MiB, stream(1), &block), PLAT_POOL_OK);
  EXPECT_EQ(waits(), 1u) << "the stream may still work in what it freed";
  for (const int user : {2, 3, 3, 4}) ASSERT_EQ(plat_pool_use_on(guarded, block, stream(user)), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_forget_stream(guarded, stream(4)), PLAT_POOL_OK);
  waits();
  EXPECT_EQ(plat_pool_free_on(guarded, block, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(waits(), 3u) << "its stream and two others; the fourth may be gone";
  plat_pool_destroy(guarded);
}

TEST_F(PoolTest, GuardsKeepAlignmentsAndRefuseSizesThatNobodyHas) {
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 1500, &guarded), PLAT_POOL_OK);
  void* block = nullptr;
  for (const uint64_t alignment : {64u, 1024u, 4096u}) {
    ASSERT_EQ(plat_pool_alloc_aligned(guarded, 100, alignment, &block), PLAT_POOL_OK);
    EXPECT_EQ(reinterpret_cast<uint64_t>(block) % alignment, 0u);
    EXPECT_EQ(plat_pool_free(guarded, block), PLAT_POOL_OK);
  }
  for (const uint64_t bytes : {uint64_t{0}, 1_TiB + 1, UINT64_MAX - 2000, UINT64_MAX})
    EXPECT_EQ(plat_pool_alloc(guarded, bytes, &block), PLAT_POOL_INVALID) << bytes;
  plat_pool_destroy(guarded);
}

TEST_F(PoolTest, GuardsSleepAndWake) {
  create();
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  for (const int save : {0, 1}) {
    void* blocks[4] = {};
    for (void*& block : blocks) ASSERT_EQ(plat_pool_alloc_tagged(guarded, 100000, 3, &block), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_sleep(guarded, 3, save), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_free(guarded, blocks[0]), PLAT_POOL_OK) << "and nothing of it is touched";
    ASSERT_EQ(plat_pool_wake(guarded, 3), PLAT_POOL_OK) << plat_pool_last_error();
    EXPECT_EQ(plat_pool_free(guarded, blocks[1]), PLAT_POOL_OK) << plat_pool_last_error();
    static_cast<char*>(blocks[2])[-1] = 1;
    static_cast<char*>(blocks[3])[100100] = 1;
    EXPECT_EQ(plat_pool_free(guarded, blocks[2]), PLAT_POOL_CORRUPT) << "looked at again";
    EXPECT_EQ(plat_pool_free(guarded, blocks[3]), PLAT_POOL_CORRUPT);
  }
  plat_pool_destroy(guarded);
}

TEST_F(PoolTest, CountsWhatPassesAResizeAndAReset) {
  create();
  plat_pool* counted = nullptr;
  ASSERT_EQ(plat_pool_with_statistics(pool, &counted), PLAT_POOL_OK);
  auto used = [&] { return stats_of(counted).used_bytes; };
  void* block = nullptr;
  uint64_t held = 0;
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_resize(counted, block, 100_KiB), PLAT_POOL_OK);
  plat_pool_usable(counted, block, nullptr, &held);
  EXPECT_EQ(used(), held);
  EXPECT_EQ(plat_pool_resize(counted, block, 60_MiB), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(used(), held);
  ASSERT_EQ(plat_pool_reset(counted), PLAT_POOL_OK);
  EXPECT_EQ(used(), 0u);
  plat_pool_destroy(counted);
}

TEST_F(PoolTest, TakesNoughtForWhatTheHeaderSays) {
  create();
  plat_pool* nothing = nullptr;
  plat_pool* never = nullptr;
  void* block = nullptr;
  ASSERT_EQ(plat_pool_with_limit(pool, 0, &nothing), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(nothing, 1, &block), PLAT_POOL_QUOTA);
  ASSERT_EQ(plat_pool_with_faults(pool, 0, 0, &never), PLAT_POOL_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(plat_pool_alloc(never, 100, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(pool, 0, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_alloc(pool, (uint64_t{1} << 40) + 1, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_alloc(pool, uint64_t{1} << 40, &block), PLAT_POOL_NO_MEMORY);
  void* last = take(1_MiB);
  EXPECT_EQ(plat_pool_resize(pool, last, 8_MiB), PLAT_POOL_NO_MEMORY) << "its pages are not there yet";
  for (plat_pool* each : {nothing, never}) plat_pool_destroy(each);
}

TEST_F(PoolTest, LimitsKnowWhatCameThroughThem) {
  create();
  plat_pool* limits[2] = {};
  void* block = nullptr;
  void* other = nullptr;
  for (auto& limit : limits) ASSERT_EQ(plat_pool_with_limit(pool, 2_MiB, &limit), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_alloc(limits[0], 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(limits[1], block), PLAT_POOL_NOT_OWNED) << "another limit's";
  EXPECT_NE(std::strstr(plat_pool_last_error(), "came through this limit"), nullptr)
      << plat_pool_last_error();
  EXPECT_EQ(plat_pool_resize(limits[1], block, 100_KiB), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(stats().live_blocks, 1u);
  EXPECT_EQ(plat_pool_alloc(limits[1], 3_MiB / 2, &other), PLAT_POOL_OK) << "nothing was counted down";
  EXPECT_EQ(plat_pool_alloc(limits[1], 1_MiB, &other), PLAT_POOL_QUOTA);
  EXPECT_EQ(plat_pool_free(limits[0], block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(limits[0], block), PLAT_POOL_NOT_OWNED) << "a second time";
  EXPECT_EQ(plat_pool_free(limits[0], nullptr), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(limits[0], 2_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_resize(limits[0], block, 4_MiB), PLAT_POOL_QUOTA);
  EXPECT_EQ(plat_pool_alloc(limits[0], 1, &other), PLAT_POOL_QUOTA);
  EXPECT_EQ(plat_pool_alloc(limits[0], UINT64_MAX, &other), PLAT_POOL_QUOTA) << "no sum wraps around";
  ASSERT_EQ(plat_pool_reset(limits[0]), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(limits[0], block), PLAT_POOL_NOT_OWNED) << "the reset freed it";
  EXPECT_EQ(plat_pool_alloc(limits[0], 2_MiB, &block), PLAT_POOL_OK);
  for (plat_pool* limit : limits) plat_pool_destroy(limit);
}

TEST_F(PoolTest, StatisticsKnowWhatCameThroughThem) {
  create();
  plat_pool* counted = nullptr;
  ASSERT_EQ(plat_pool_with_statistics(pool, &counted), PLAT_POOL_OK);
  auto seen = [&] { return stats_of(counted); };
  void* direct = take(1_MiB);
  EXPECT_EQ(plat_pool_free(counted, direct), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_resize(counted, direct, 100_KiB), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(seen().used_bytes, 0u);
  EXPECT_EQ(seen().live_blocks, 0u);
  EXPECT_EQ(stats().live_blocks, 1u) << "the pool has its block yet";
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(counted, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(counted, block), PLAT_POOL_NOT_OWNED) << "a second time";
  EXPECT_EQ(seen().used_bytes, 0u);
  // Freed behind its back: the count is right again once it learns of that.
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(counted, block), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(seen().live_blocks, 0u);
  EXPECT_EQ(seen().used_bytes, 0u);
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  void* again = nullptr;
  uint64_t held = 0;
  ASSERT_EQ(plat_pool_alloc(counted, 1_MiB, &again), PLAT_POOL_OK);
  ASSERT_EQ(again, block);
  plat_pool_usable(counted, again, nullptr, &held);
  EXPECT_EQ(seen().used_bytes, held) << "counted once";
  EXPECT_EQ(seen().live_blocks, 1u);
  plat_pool_destroy(counted);
}

// A broken guard is told, but the block is freed: it no longer counts.
TEST_F(PoolTest, LimitsForgetABlockWithABrokenGuard) {
  create();
  plat_pool* guarded = nullptr;
  plat_pool* limited = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_limit(guarded, 1_MiB, &limited), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc(limited, 900_KiB, &block), PLAT_POOL_OK);
  static_cast<char*>(block)[-1] = 1;
  EXPECT_EQ(plat_pool_free(limited, block), PLAT_POOL_CORRUPT);
  EXPECT_EQ(plat_pool_alloc(limited, 900_KiB, &block), PLAT_POOL_OK) << plat_pool_last_error();
  for (plat_pool* each : {limited, guarded}) plat_pool_destroy(each);
}

TEST_F(PoolTest, WritesATraceThatReplayReads) {
  create();
  const std::string path = ::testing::TempDir() + "pool_trace.csv";
  std::remove(path.c_str());
  plat_pool* traced = nullptr;
  ASSERT_EQ(plat_pool_with_trace(pool, path.c_str(), &traced), PLAT_POOL_OK);
  void* block = nullptr;
  void* host = nullptr;
  plat_pool_alloc(traced, 777, &block);
  plat_pool_free(traced, block);
  plat_pool_alloc_for(traced, 100, PLAT_POOL_HOST, &host);
  plat_pool_alloc_on(traced, 5_MiB, stream(4), &block);
  plat_pool_use_on(traced, block, stream(5));
  plat_pool_use_on(traced, block, stream(6));
  plat_pool_forget_stream(traced, stream(6));
  plat_pool_resize(traced, block, 1_MiB);
  plat_pool_free_on(traced, block, stream(4));
  plat_pool_free(traced, host);
  plat_pool_alloc(traced, 64, &block);
  plat_pool_reset(traced);
  plat_pool_destroy(traced);
  std::ifstream file(path);
  std::string line;
  for (const char* expected : {"a,1,777,0,", "f,1,0,0,", "a,2,5242880,1,", "u,2,0,2,", "u,2,0,3,", "f,2,0,1,",
                               "a,3,1048576,1,", "u,3,0,2,", "f,3,0,1,", "a,4,64,0,", "f,4,0,0,"}) {
    std::getline(file, line);
    EXPECT_EQ(line.substr(0, std::string(expected).size()), expected);
  }
  EXPECT_FALSE(std::getline(file, line));
}

}  // namespace
}  // namespace plat::test
