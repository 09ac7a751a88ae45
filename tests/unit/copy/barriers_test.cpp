// SPDX-License-Identifier: Apache-2.0
#include "copy/barriers.h"

#include <gtest/gtest.h>

#include <optional>

namespace plat::copy {
namespace {

TEST(Barriers, ABarrierEndsWithTheLastOfItsOperations) {
  Barriers barriers;
  std::optional<Barriers::Operation> one, two;
  one.emplace(barriers, 7);
  two.emplace(barriers, 7);
  one.reset();
  EXPECT_FALSE(barriers.has_ended(7));
  two.reset();
  EXPECT_TRUE(barriers.has_ended(7));
}

// A stream that is destroyed drops what it was given; who waits for the barrier elsewhere goes on.
TEST(Barriers, AnOperationThatIsHandedOnEndsOnce) {
  Barriers barriers;
  {
    Barriers::Operation first(barriers, 7);
    const Barriers::Operation second = std::move(first);
    EXPECT_FALSE(barriers.has_ended(7));
  }
  EXPECT_TRUE(barriers.has_ended(7));
}

TEST(Barriers, NumberZeroIsNone) {
  Barriers barriers;
  const Barriers::Operation none(barriers, 0);
  EXPECT_TRUE(barriers.has_ended(0));
}

}  // namespace
}  // namespace plat::copy
