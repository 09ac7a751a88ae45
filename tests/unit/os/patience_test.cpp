// SPDX-License-Identifier: Apache-2.0
#include "os/patience.h"

#include <gtest/gtest.h>

namespace plat::os {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

TEST(Patience, IsOverAfterItsTimeWhenLooksComeOften) {
  uint64_t now = 77;
  Patience patience(10 * kMillisecond, now);
  for (int look = 1; look < 10; ++look) EXPECT_FALSE(patience.is_over(now += kMillisecond)) << look;
  EXPECT_TRUE(patience.is_over(now += kMillisecond));
  EXPECT_TRUE(patience.is_over(now += kMillisecond));
}

TEST(Patience, LooksThatComeLateCountLittle) {
  uint64_t now = 77;
  Patience patience(10 * kMillisecond, now);
  for (int look = 1; look < 5; ++look) EXPECT_FALSE(patience.is_over(now += 1000 * kMillisecond)) << look;
  EXPECT_TRUE(patience.is_over(now += 1000 * kMillisecond));
}

TEST(Patience, NoneIsOverAtOnce) { EXPECT_TRUE(Patience(0).is_over()); }

}  // namespace
}  // namespace plat::os
