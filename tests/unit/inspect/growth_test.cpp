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

Object block_from(uint32_t stack, uint64_t event) {
  Object block;
  block.kind = Kind::DeviceBlock;
  block.size = 64;
  block.born.stack = stack;
  block.born.event = event;
  return block;
}

TEST(Growth, StacksOfOnePlaceGrowTogether) {
  GrowthBook apart, together([](uint32_t stack) { return stack - stack % 2; });
  for (uint32_t step = 0; step < 8; ++step)
    for (GrowthBook* book : {&apart, &together}) {
      book->born(block_from(2 + step % 2, step + 1));
      book->mark("step");
    }
  for (const auto& [key, series] : apart.series().at("step")) EXPECT_FALSE(series.keeps_growing());
  const auto& all = together.series().at("step");
  ASSERT_EQ(all.size(), 1u);
  const GrowthSeries& series = all.begin()->second;
  EXPECT_TRUE(series.keeps_growing());
  EXPECT_EQ(series.last_count, 8u);
  EXPECT_EQ(series.last_bytes, 8u * 64);
  EXPECT_EQ(series.site.event, 1u);
}

}  // namespace
}  // namespace plat::inspect
