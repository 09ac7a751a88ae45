// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

namespace plat {
namespace {

// The rules themselves stand in another folder.
constexpr auto kRule = static_cast<RuleId>(7);

// A call that goes well makes and ends one at every storey.
static_assert(sizeof(Result<>) <= 16 && sizeof(Result<void*>) <= 16);

Result<int> failing(int value) { return fail(kRule, "offset", "offset is {}", value); }

Result<> through(int value) {
  PLAT_ASSIGN(result, failing(value));
  (void)result;
  return {};
}

TEST(Result, TheErrorGoesUpWhole) {
  const Result<> result = []() -> Result<> {
    PLAT_TRY(through(7));
    return {};
  }();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().rule, kRule);
  EXPECT_EQ(result.error().parameter, "offset");
  EXPECT_EQ(result.error().detail, "offset is 7");
}

TEST(Result, ACopyHasAnErrorOfItsOwn) {
  Result<int> first = failing(1);
  Result<int> second = first;
  second.error().detail += " here";
  EXPECT_EQ(first.error().detail, "offset is 1");
  EXPECT_EQ(second.error().detail, "offset is 1 here");
  second = 5;
  EXPECT_EQ(second.value(), 5);
  second = first;
  EXPECT_EQ(second.error().detail, "offset is 1");
  const Error taken = std::move(second).error();
  EXPECT_EQ(taken.detail, "offset is 1");
}

// What is true of a result is not its value.
TEST(Result, ACopyOfAValueIsThatValue) {
  Result<bool> no = false;
  Result<bool> copy = no;
  ASSERT_TRUE(copy);
  EXPECT_FALSE(*copy);
  const Result<bool> moved = std::move(no);
  ASSERT_TRUE(moved);
  EXPECT_FALSE(*moved);
}

}  // namespace
}  // namespace plat
