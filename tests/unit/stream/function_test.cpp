// SPDX-License-Identifier: Apache-2.0
#include "stream/function.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace plat::stream {

TEST(Function, CallsWhatItHolds) {
  int calls = 0;
  Function<int> function = [&calls] { return ++calls; };
  EXPECT_EQ(function(), 1);
  EXPECT_EQ(function(), 2);
}

TEST(Function, MovesSmallAndLargeCallables) {
  auto token = std::make_shared<int>(7);
  {
    Function<int> small = [token] { return *token; };
    Function<int> large = [token, ballast = std::array<char, 200>{}] { return *token + ballast[0]; };
    EXPECT_EQ(token.use_count(), 3);
    Function<int> moved_small = std::move(small);
    Function<int> moved_large;
    moved_large = std::move(large);
    EXPECT_FALSE(small);  // NOLINT(bugprone-use-after-move): that is what is tested.
    EXPECT_EQ(moved_small() + moved_large(), 14);
    EXPECT_EQ(token.use_count(), 3);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Function, HoldsMoveOnlyCallables) {
  Function<int> function = [owned = std::make_unique<int>(3)] { return *owned; };
  Function<int> moved = std::move(function);
  EXPECT_EQ(moved(), 3);
}

}  // namespace plat::stream
