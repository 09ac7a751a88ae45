// SPDX-License-Identifier: Apache-2.0
#include "base/id.h"

#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <map>
#include <vector>

namespace plat {
namespace {

using Apple = Id<struct AppleKind>;
using Pear = Id<struct PearKind>;

TEST(Id, IsNotTheNumberOfAnotherThing) {
  EXPECT_FALSE((std::is_convertible_v<Apple, Pear>));
  EXPECT_FALSE((std::is_constructible_v<Apple, Pear>));
  EXPECT_FALSE((std::is_convertible_v<uint32_t, Apple>));
  EXPECT_FALSE((std::is_convertible_v<Apple, uint32_t>));
  EXPECT_FALSE((std::equality_comparable_with<Apple, Pear>));
  EXPECT_FALSE((std::equality_comparable_with<Apple, uint32_t>));
}

TEST(Id, IsComparedAndKeptInOrder) {
  EXPECT_EQ(Apple(3), Apple(3));
  EXPECT_NE(Apple(3), Apple::none());
  EXPECT_EQ(Apple(), Apple(0));
  const std::map<Apple, int> basket = {{Apple(2), 20}, {Apple(1), 10}, {Apple::none(), 0}};
  EXPECT_EQ(basket.begin()->second, 10);
  EXPECT_EQ(basket.rbegin()->first.value, UINT32_MAX);
}

TEST(Id, IsLinkedToByMemoryThatWasWritten) {
  constexpr Link<Apple> nowhere;
  EXPECT_FALSE(nowhere);
  EXPECT_EQ(nowhere.number_after, 0u) << "as memory that nobody has written";
  const Link first(Apple(0));
  EXPECT_TRUE(first);
  EXPECT_EQ(*first, Apple(0));
  EXPECT_NE(first, Link(Apple(1)));
}

TEST(Id, AreWalkedInOrder) {
  std::vector<Apple> walked;
  for (const Apple apple : ids<Apple>(3)) walked.push_back(apple);
  EXPECT_EQ(walked, (std::vector{Apple(0), Apple(1), Apple(2)}));
  for (const Apple apple : ids<Apple>(0)) ADD_FAILURE() << apple.value;
}

TEST(Id, IsStoredAtOnce) {
  EXPECT_TRUE(std::atomic<Apple>::is_always_lock_free);
  std::atomic<Apple> apple{};
  apple.store(Apple(7));
  EXPECT_EQ(apple.load(), Apple(7));
}

}  // namespace
}  // namespace plat
