// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/growth.h"

#include <gtest/gtest.h>

namespace plat::inspect {
namespace {

TEST(Growth, TextsThatComeOnceMakeRoomForOthers) {
  GrowthBook book;
  book.mark("epoch");
  book.mark("epoch");
  for (size_t i = 0; i < 3 * GrowthBook::kTextsMax; ++i) book.mark("step " + std::to_string(i));
  EXPECT_EQ(book.series().size(), GrowthBook::kTextsMax);
  EXPECT_TRUE(book.series().contains("epoch"));
  EXPECT_FALSE(book.series().contains("step 0"));
}

TEST(Growth, OfTextsThatComeAgainTheOldestGoes) {
  GrowthBook book;
  for (size_t i = 0; i <= GrowthBook::kTextsMax; ++i)
    for (int twice = 0; twice < 2; ++twice) book.mark("phase " + std::to_string(i));
  EXPECT_EQ(book.series().size(), GrowthBook::kTextsMax);
}

}  // namespace
}  // namespace plat::inspect
