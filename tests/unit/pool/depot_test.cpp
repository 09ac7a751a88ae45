// SPDX-License-Identifier: Apache-2.0
#include "pool/depot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "pool_fixture.h"

namespace plat::pool {
namespace {

std::vector<SmallBlock> blocks_of(uint32_t count, char* memory) {
  std::vector<SmallBlock> blocks(count);
  for (uint32_t i = 0; i < count; ++i) blocks[i] = {memory + i, nullptr};
  return blocks;
}

TEST(Depot, GivesTheLastThatCameAndNoMoreThanItHas) {
  std::vector<char> memory(10);
  const auto some = blocks_of(10, memory.data());
  Depot depot;
  std::vector<SmallBlock> out(20);
  EXPECT_EQ(depot.take(3, out.data(), 20), 0u);
  EXPECT_EQ(depot.put(3, some.data(), 10), 10u);
  EXPECT_EQ(depot.take(4, out.data(), 20), 0u) << "of another class";
  EXPECT_EQ(depot.blocks(), 10u);
  EXPECT_EQ(depot.bytes(), 10u * class_bytes(3));
  ASSERT_EQ(depot.take(3, out.data(), 4), 4u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(out[i].address, some[6 + i].address);
  ASSERT_EQ(depot.take(3, out.data(), 20), 6u);
  EXPECT_EQ(out[0].address, some[0].address);
  EXPECT_EQ(depot.blocks(), 0u);
  depot.put(3, some.data(), 10);
  depot.clear();
  EXPECT_EQ(depot.take(3, out.data(), 20), 0u);
}

TEST(Depot, HasMoreRoomForSeveralThreads) {
  for (const uint32_t index : {0u, kClasses - 1}) {
    const uint32_t many = 10 * cache_capacity(index);
    std::vector<char> memory(many);
    const auto some = blocks_of(many, memory.data());
    Depot depot;
    EXPECT_EQ(depot.put(index, some.data(), many), 4 * cache_capacity(index));
    EXPECT_EQ(depot.put(index, some.data(), 1), 0u);
    depot.widen();
    EXPECT_EQ(depot.put(index, some.data(), many), 4 * cache_capacity(index));
    EXPECT_EQ(depot.put(index, some.data(), 1), 0u);
  }
}

}  // namespace
}  // namespace plat::pool

namespace plat::test {
namespace {

// Each block is freed once more wherever it may be: with the thread that freed it, on its way, and with the
// one that allocates.
TEST_F(PoolTest, NoticesASecondFreeOfABlockThatWanders) {
  create();
  constexpr size_t kBlocks = 300;
  std::vector<void*> blocks(kBlocks);
  for (void*& block : blocks) block = take(1000);
  std::atomic<int> step{0};
  std::thread other([&] {
    for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  EXPECT_EQ(stats().live_blocks, 0u);
  EXPECT_EQ(stats().used_bytes, 0u);
  for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
  std::vector<void*> again(100);
  for (void*& block : again) block = take(1000);
  EXPECT_EQ(stats().live_blocks, again.size());
  for (void* block : blocks) {
    const bool taken = std::find(again.begin(), again.end(), block) != again.end();
    EXPECT_EQ(plat_pool_usable(pool, block, nullptr, nullptr) == PLAT_POOL_OK, taken);
    if (taken) continue;
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
  }
  for (void* block : again) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  step = 2;
  other.join();
  EXPECT_EQ(stats().live_blocks, 0u);
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
}

// What lies ready for threads sleeps with the rest, and is there when it wakes.
TEST_F(PoolTest, TakesNothingOutOfTheDepotWhileItSleeps) {
  create();
  void* const kept = take(1000);  // so that the thread's cache is made
  std::vector<void*> blocks(300);
  for (void*& block : blocks) block = take(3000);
  std::atomic<int> step{0};
  std::thread other([&] {
    while (step != 1) std::this_thread::yield();
    for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    step = 2;
    while (step != 3) std::this_thread::yield();
  });
  EXPECT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 0), PLAT_POOL_OK) << plat_pool_last_error();
  step = 1;  // frees are good while it sleeps
  while (step != 2) std::this_thread::yield();
  void* block = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 3000, &block), PLAT_POOL_ASLEEP);
  EXPECT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK) << plat_pool_last_error();
  block = take(3000);
  EXPECT_NE(std::find(blocks.begin(), blocks.end(), block), blocks.end());
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, kept), PLAT_POOL_OK);
  step = 3;
  other.join();
}

}  // namespace
}  // namespace plat::test
