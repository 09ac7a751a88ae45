// SPDX-License-Identifier: Apache-2.0
#include "core/stable_array.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

namespace plat::core {
namespace {

struct Item {
  std::atomic<int> value{7};
};
using Small = StableArray<Item, 4, 3>;

TEST(StableArray, HandsOutEveryIndexOnceAndThenIsFull) {
  Small array;
  std::set<uint32_t> taken;
  for (uint32_t i = 0; i < Small::kCapacity; ++i) EXPECT_TRUE(taken.insert(array.take()).second);
  EXPECT_EQ(array.take(), Small::kCapacity);
  EXPECT_EQ(array.live(), Small::kCapacity);
  array.give_back(5);
  EXPECT_EQ(array.live(), Small::kCapacity - 1);
  EXPECT_EQ(array.take(), 5u);
}

TEST(StableArray, FindsNothingThatWasNeverTaken) {
  Small array;
  EXPECT_EQ(array.find(0), nullptr);
  EXPECT_EQ(array.find(Small::kCapacity), nullptr);
  EXPECT_EQ(array.find(UINT32_MAX), nullptr);
  array.take();
  EXPECT_NE(array.find(0), nullptr);
  EXPECT_EQ(array.find(4), nullptr);  // of the next chunk
}

TEST(StableArray, ElementsNeverMoveAndSurviveTheirOwner) {
  StableArray<Item, 8, 64> array;
  const uint32_t first = array.take();
  Item* item = array.find(first);
  item->value = 42;
  for (int i = 0; i < 300; ++i) array.take();
  EXPECT_EQ(array.find(first), item);
  array.give_back(first);
  EXPECT_EQ(array.find(first)->value, 42);  // stale, but readable
}

TEST(StableArray, CountsWhatLives) {
  StableArray<Item, 8, 64> array;
  std::vector<uint32_t> live;
  std::mt19937 random(9);
  for (int step = 0; step < 5000; ++step) {
    if (live.empty() || (random() % 2 == 0 && live.size() < 400)) {
      live.push_back(array.take());
    } else {
      const size_t victim = random() % live.size();
      array.give_back(live[victim]);
      live.erase(live.begin() + static_cast<long>(victim));
    }
    ASSERT_EQ(array.live(), live.size());
    ASSERT_EQ(std::set<uint32_t>(live.begin(), live.end()).size(), live.size()) << "one index for two owners";
  }
}

TEST(StableArray, IsReadWhileItGrows) {
  auto array = std::make_unique<StableArray<Item, 16, 512>>();
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done)
      for (uint32_t i = 0; i < 8192; i += 13)
        if (const Item* item = array->find(i)) {
          ASSERT_EQ(item->value.load(), 7);
        }
  });
  for (uint32_t i = 0; i < 8192; ++i) array->take();
  done = true;
  reader.join();
}

}  // namespace
}  // namespace plat::core
