// SPDX-License-Identifier: Apache-2.0
// Many threads that allocate, copy, check and free, and some that do all of it wrongly.
#include <gtest/gtest.h>

#include <barrier>
#include <random>
#include <thread>

#include "rules/rules.h"
#include "support/tiny_device.h"

namespace plat::malloc {
namespace {

TEST(Stress, ThreadsKeepTheirOwnBytes) {
  testing::TinyDevice tiny;
  const auto worker = [&](unsigned seed) {
    std::mt19937 random(seed);
    struct Block {
      Va start;
      uint64_t size;
      uint8_t fill;
    };
    std::vector<Block> mine;
    for (int step = 0; step < 300; ++step) {
      if (mine.size() < 8 && random() % 2 == 0) {
        const uint64_t size = 1 + random() % (random() % 8 == 0 ? 3_MiB : 9000);
        const auto start = tiny.malloc(size);
        if (!start) continue;
        const auto fill = static_cast<uint8_t>(random());
        ASSERT_TRUE(tiny.mover.fill(*start, size, fill, 0));
        mine.push_back({*start, size, fill});
      } else if (!mine.empty()) {
        const size_t pick = random() % mine.size();
        const Block block = mine[pick];
        uint8_t back[2] = {};
        ASSERT_TRUE(tiny.mover.copy(va_of(&back[0]), block.start, 1, 0));
        ASSERT_TRUE(tiny.mover.copy(va_of(&back[1]), block.start + (block.size - 1), 1, 0));
        ASSERT_EQ(back[0], block.fill);
        ASSERT_EQ(back[1], block.fill);
        ASSERT_TRUE(tiny.free(block.start));
        mine.erase(mine.begin() + static_cast<long>(pick));
      }
    }
    for (const Block& block : mine) ASSERT_TRUE(tiny.free(block.start));
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(worker, seed);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(tiny.free_bytes(), 64_MiB);
}

// Reading freed memory and freeing twice, while others work: errors, never a crash, and nothing lost.
TEST(Stress, MistakesBesideOrderlyWorkStayErrors) {
  testing::TinyDevice tiny;
  std::atomic<uint64_t> shared{0};
  std::atomic<bool> done{false};
  std::thread wild([&] {
    char bytes[64];
    while (!done) {
      const Va va{shared.load()};
      if (va.value == 0) continue;
      (void)tiny.mover.copy(va_of(bytes), va, sizeof(bytes), 0);
      (void)tiny.heap.find(va);
      (void)tiny.free(va + 64);
    }
  });
  for (int step = 0; step < 500; ++step) {
    const Va block = tiny.malloc(step % 3 == 0 ? 3_MiB : 4096).value();
    shared = block.value;
    // The other thread's copy may hold on to the block for a moment.
    while (!tiny.free(block)) std::this_thread::yield();
  }
  done = true;
  wild.join();
  EXPECT_EQ(tiny.free_bytes(), 64_MiB);
}

// One free wins, whichever thread it is in; the other is told, and the memory comes back once.
TEST(Stress, TwoThreadsFreeOneLargeBlock) {
  testing::TinyDevice tiny;
  std::barrier together(2);
  Va block;
  std::atomic<int> freed{0};
  const auto worker = [&](bool allocates) {
    for (int round = 0; round < 300; ++round) {
      if (allocates) block = tiny.malloc(4_MiB).value();
      together.arrive_and_wait();
      const auto result = tiny.free(block);
      if (result) {
        ++freed;
      } else {  // depending on how far the other has come
        const RuleId rule = result.error().rule;
        EXPECT_TRUE(rule == RuleId::FreeTwice || rule == RuleId::FreeUnknown);
      }
      together.arrive_and_wait();
      if (allocates) {
        EXPECT_EQ(freed.exchange(0), 1) << "round " << round;
      }
    }
  };
  std::thread other(worker, false);
  worker(true);
  other.join();
  EXPECT_EQ(tiny.free_bytes(), 64_MiB);
}

}  // namespace
}  // namespace plat::malloc
