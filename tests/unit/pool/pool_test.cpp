// SPDX-License-Identifier: Apache-2.0
// What a pool promises, one sentence a test.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "pool/clock.h"
#include "pool_fixture.h"

namespace plat::test {
namespace {

uint64_t number(void* address) { return reinterpret_cast<uint64_t>(address); }

TEST_F(PoolTest, KeepsThirtyTwoBytesAfterEverySegment) {
  create();
  std::vector<uint64_t> sizes{1,     32,    33,    64,    100,        512,      4096,
                              32768, 65536, 1_MiB, 2_MiB, 2_MiB - 32, 3_MiB + 1};
  std::vector<std::pair<uint64_t, uint64_t>> blocks;
  for (uint64_t bytes : sizes)
    for (int i = 0; i < 2; ++i) blocks.emplace_back(number(take(bytes)), align_up(bytes, 32) + 32);
  std::sort(blocks.begin(), blocks.end());
  for (size_t i = 0; i + 1 < blocks.size(); ++i)
    EXPECT_LE(blocks[i].first + blocks[i].second, blocks[i + 1].first);
  for (auto& [start, own] : blocks) EXPECT_EQ(start % 64, 0u);
}

TEST_F(PoolTest, NeedsNoTailOnTheNewestProduct) {
  device().soc = "Ascend950";
  create();
  uint64_t payload = 0;
  uint64_t whole = 0;
  ASSERT_EQ(plat_pool_usable(pool, take(64), &payload, &whole), PLAT_POOL_OK);
  EXPECT_EQ(payload, 64u);
  EXPECT_EQ(whole, 64u);
}

TEST_F(PoolTest, StartsMediaBuffersAtMultiplesOf128) {
  create();
  for (uint64_t bytes = 1; bytes < 100000; bytes = bytes * 3 / 2 + 1) {
    void* address = nullptr;
    ASSERT_EQ(plat_pool_alloc_for(pool, bytes, PLAT_POOL_MEDIA, &address), PLAT_POOL_OK);
    EXPECT_EQ(number(address) % 128, 0u) << bytes;
  }
}

TEST_F(PoolTest, MovesPagesInsteadOfGrowing) {
  create();
  // 32 pages full of blocks that share no page with a neighbour of another parity; every second one goes.
  std::vector<void*> blocks;
  for (int i = 0; i < 15; ++i) blocks.push_back(take(4_MiB - 16384));
  for (size_t i = 0; i < blocks.size(); i += 2) plat_pool_free(pool, blocks[i]);
  for (size_t i = 1; i < blocks.size(); i += 2) std::memset(blocks[i], static_cast<int>(i), 4_MiB - 16384);
  // Nothing free is longer than 4 MiB and the device has 4 MiB left, but 12 MiB are free in pages.
  void* large = take(12_MiB);
  ASSERT_NE(large, nullptr);
  std::memset(large, 0xAB, 12_MiB);
  EXPECT_GT(stats().remaps, 0u);
  EXPECT_EQ(stats().most_remaps, stats().remaps) << "for one request";
  for (size_t i = 1; i < blocks.size(); i += 2) {
    const auto* bytes = static_cast<unsigned char*>(blocks[i]);
    EXPECT_EQ(bytes[0], i);
    EXPECT_EQ(bytes[4_MiB - 16385], i);
  }
}

TEST_F(PoolTest, MovesNoMorePagesForARequestThanItMay) {
  options.max_remaps = 1;
  create();
  std::vector<void*> blocks;
  for (int i = 0; i < 15; ++i) blocks.push_back(take(4_MiB - 16384));
  for (size_t i = 0; i < blocks.size(); i += 2) plat_pool_free(pool, blocks[i]);
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 12_MiB, &address), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(stats().remaps, 0u) << "moving some would be work for nothing";
  const std::string why = plat_pool_last_error();
  EXPECT_NE(why.find("at most 1"), std::string::npos) << why;
  // What the device still has is taken first, and the rest is within the bound.
  EXPECT_EQ(plat_pool_alloc(pool, 5_MiB, &address), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_LE(stats().remaps, 1u);
}

TEST_F(PoolTest, SaysWhatItHoldsWhenMemoryIsOut) {
  create();
  take(40_MiB);
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 40_MiB, &address), PLAT_POOL_NO_MEMORY);
  const std::string why = plat_pool_last_error();
  EXPECT_NE(why.find("40 MiB"), std::string::npos) << why;
  EXPECT_NE(why.find("live blocks"), std::string::npos) << why;
  EXPECT_EQ(stats().out_of_memory, 1u);
}

TEST_F(PoolTest, AsksTheCallbackLast) {
  create();
  struct Held {
    void* block;
    int calls = 0;
  } held{take(40_MiB)};
  plat_pool_set_oom_callback(
      pool,
      [](void* user, plat_pool* asking, uint64_t, const char*) {
        auto* h = static_cast<Held*>(user);
        plat_pool_free(asking, h->block);
        return ++h->calls;
      },
      &held);
  EXPECT_NE(take(40_MiB), nullptr);
  EXPECT_EQ(held.calls, 1);
}

TEST_F(PoolTest, TakesIdlePagesOfAnotherPool) {
  create();
  plat_pool* other = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &other), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc(other, 40_MiB, &block), PLAT_POOL_OK);
  plat_pool_free(other, block);
  EXPECT_NE(take(40_MiB), nullptr);
  plat_pool_destroy(other);
}

TEST_F(PoolTest, RefusesWhatItDoesNotOwn) {
  create();
  void* block = take(1_MiB);
  EXPECT_EQ(plat_pool_free(pool, static_cast<char*>(block) + 512), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_free(pool, static_cast<char*>(block) + 1), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_free(pool, &block), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_free(pool, nullptr), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(pool, 0, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_alloc_aligned(pool, 8, 48, &block), PLAT_POOL_INVALID);
}

TEST_F(PoolTest, KeepsToItsLimit) {
  options.limit_bytes = 10_MiB;
  create();
  take(8_MiB - 4096);
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 4_MiB, &address), PLAT_POOL_NO_MEMORY);
  EXPECT_LE(stats().reserved_bytes, 10_MiB);
}

TEST_F(PoolTest, GivesMemoryBackByPolicy) {
  options.release = PLAT_POOL_RELEASE_NOW;
  create();
  plat_pool_free(pool, take(20_MiB));
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

TEST_F(PoolTest, GivesBackWhatNobodyNeededForAWhile) {
  options.release = PLAT_POOL_RELEASE_IDLE;
  for (const bool soon : {true, false}) {
    options.release_idle_ms = soon ? 0 : UINT64_MAX;
    create();
    void* kept = take(4_MiB);
    void* next = take(4_MiB);
    plat_pool_free(pool, take(20_MiB));
    EXPECT_GE(stats().reserved_bytes, 28_MiB) << "it was needed until now";
    plat_pool_free(pool, kept);
    EXPECT_EQ(stats().reserved_bytes < 20_MiB, soon);
    plat_pool_free(pool, next);
    plat_pool_destroy(std::exchange(pool, nullptr));
  }
}

// A clock that stands still while nobody moves it.
class HandClock {
 public:
  HandClock() {
    pool::clock_now = [] { return pool::TimePoint(time_); };
  }
  ~HandClock() { pool::clock_now = std::chrono::steady_clock::now; }
  void pass(std::chrono::milliseconds time) { time_ += time; }

 private:
  static inline std::chrono::milliseconds time_{1000};
};

TEST_F(PoolTest, GivesBackAtTheFirstFreeAfterTheIdleTime) {
  HandClock clock;
  options.release = PLAT_POOL_RELEASE_IDLE;
  options.release_idle_ms = 10;
  create();
  void* kept = take(4_MiB);
  void* next = take(4_MiB);
  plat_pool_free(pool, take(20_MiB));
  clock.pass(std::chrono::milliseconds(9));
  plat_pool_free(pool, kept);
  EXPECT_GE(stats().reserved_bytes, 28_MiB) << "not yet";
  clock.pass(std::chrono::milliseconds(1));
  plat_pool_free(pool, next);
  EXPECT_LT(stats().reserved_bytes, 20_MiB);
}

TEST_F(PoolTest, RefusesOptionsThatDoNotExist) {
  options.release = static_cast<plat_pool_release>(17);
  EXPECT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_INVALID);
  EXPECT_EQ(pool, nullptr);
}

TEST_F(PoolTest, ResizesWhereItStands) {
  create();
  void* first = take(1_MiB);
  EXPECT_EQ(plat_pool_resize(pool, first, 1_MiB + 100000), PLAT_POOL_OK);
  void* second = take(1_MiB / 2);
  EXPECT_GE(number(second), number(first) + 1_MiB + 100000 + 32);
  EXPECT_EQ(plat_pool_resize(pool, first, 40_MiB), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(plat_pool_resize(pool, first, 4096), PLAT_POOL_OK);
}

TEST_F(PoolTest, TakesBlocksWhereThereIsNoVirtualMemory) {
  struct Product {
    const char* soc;
    bool on_itself;
    bool pages;
  };
  for (const Product& product : {Product{"Ascend310", false, false}, Product{"Ascend310B1", true, false},
                                 Product{"Ascend310B1", false, true}, Product{"Ascend310P3", false, true}}) {
    SCOPED_TRACE(product.soc);
    reset_device();
    device().soc = product.soc;
    device().on_itself = product.on_itself;
    create();
    for (const uint64_t bytes : {uint64_t{100}, 100_KiB, 3_MiB}) std::memset(take(bytes), 1, bytes);
    EXPECT_EQ(device().maps != 0, product.pages);
    EXPECT_EQ(device().mallocs == 0, product.pages);
    plat_pool_destroy(std::exchange(pool, nullptr));
  }
}

TEST_F(PoolTest, ServesEverySource) {
  for (auto source :
       {PLAT_POOL_SOURCE_MALLOC, PLAT_POOL_SOURCE_HOST, PLAT_POOL_SOURCE_MEDIA, PLAT_POOL_SOURCE_CACHED}) {
    options.source = source;
    options.chunk_bytes = 8_MiB;
    create();
    std::vector<void*> blocks;
    for (uint64_t bytes : {100_KiB, 100ul, 3_MiB, 9_MiB}) blocks.push_back(take(bytes));
    for (void* block : blocks) EXPECT_EQ(number(block) % (source == PLAT_POOL_SOURCE_MEDIA ? 128 : 64), 0u);
    for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    plat_pool_trim(pool, 0);
    EXPECT_EQ(stats().reserved_bytes, 0u);
    plat_pool_destroy(std::exchange(pool, nullptr));
  }
}

TEST_F(PoolTest, DividesWhatTheCallerBrings) {
  constexpr auto kPlace = std::align_val_t(4096);
  std::unique_ptr<char[]> memory(new (kPlace) char[1_MiB + 512]);
  char* const base = memory.get() + 512;  // a multiple of no more than that
  options.source = PLAT_POOL_SOURCE_CALLER;
  options.caller_base = base;
  options.caller_bytes = 1_MiB;
  create();
  void* block = take(1000);
  EXPECT_GE(block, base);
  EXPECT_LT(block, base + 1_MiB);
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 2_MiB, &address), PLAT_POOL_NO_MEMORY);
  for (uint64_t alignment = 64; alignment <= 2_MiB; alignment *= 2) {
    const auto status = plat_pool_alloc_aligned(pool, 100, alignment, &address);
    EXPECT_EQ(status, alignment <= 512 ? PLAT_POOL_OK : PLAT_POOL_UNSUPPORTED) << alignment;
    if (status == PLAT_POOL_OK) {
      EXPECT_EQ(number(address) % alignment, 0u);
    }
  }
  EXPECT_EQ(plat_pool_alloc_for(pool, 100, PLAT_POOL_HOST, &address), PLAT_POOL_UNSUPPORTED);
  plat_pool_destroy(std::exchange(pool, nullptr));
  // The first tag would get the whole range, and the rest nothing.
  create();
  EXPECT_EQ(plat_pool_alloc_tagged(pool, 1000, 1, &address), PLAT_POOL_UNSUPPORTED);
  EXPECT_NE(std::string(plat_pool_last_error()).find("is one piece"), std::string::npos)
      << plat_pool_last_error();
  EXPECT_NE(take(1000), nullptr);
  plat_pool_destroy(std::exchange(pool, nullptr));
  ::operator delete[](memory.release(), kPlace);
}

TEST_F(PoolTest, ForgetsEverythingOnReset) {
  create();
  for (int i = 0; i < 100; ++i) take(static_cast<uint64_t>(100 * (i + 1) * (i % 7 + 1)));
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(stats().used_bytes, 0u);
  plat_pool_trim(pool, 0);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

// They are placed beside blocks that are longer than a chunk of the table that finds them again.
TEST_F(PoolTest, FindsShortBlocksWithLongAlignments) {
  create();
  std::vector<void*> blocks;
  for (int i = 0; i < 40; ++i) {
    void* block = nullptr;
    ASSERT_EQ(
        plat_pool_alloc_aligned(pool, 1 + 700 * static_cast<uint64_t>(i), uint64_t{64_KiB} << i % 4, &block),
        PLAT_POOL_OK);
    ASSERT_EQ(reinterpret_cast<uint64_t>(block) % (uint64_t{64_KiB} << i % 4), 0u);
    blocks.push_back(block);
    blocks.push_back(take(33000));
  }
  for (void* block : blocks) ASSERT_EQ(plat_pool_resize(pool, block, 1), PLAT_POOL_OK);
  for (void* block : blocks) {
    EXPECT_EQ(plat_pool_free(pool, static_cast<char*>(block) + 512), PLAT_POOL_NOT_OWNED);
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
  }
  EXPECT_EQ(stats().used_bytes, 0u);
}

}  // namespace
}  // namespace plat::test
