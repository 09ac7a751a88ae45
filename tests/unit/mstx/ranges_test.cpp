// SPDX-License-Identifier: Apache-2.0
#include "mstx/ranges.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace plat::mstx {
namespace {

TEST(MstxRanges, HasTheWantedIdUnlessItIsTaken) {
  Ranges ranges;
  EXPECT_EQ(ranges.open(std::make_unique<Range>(), 7), 7u);
  const uint64_t other = ranges.open(std::make_unique<Range>(), 7);
  EXPECT_NE(other, 7u);
  EXPECT_NE(ranges.close(7), nullptr);
  EXPECT_EQ(ranges.open(std::make_unique<Range>(), 7), 7u);
  EXPECT_NE(ranges.close(other), nullptr);
}

TEST(MstxRanges, AnIdOfOursIsNeverZeroAndNeedsAllItsBits) {
  Ranges ranges;
  const uint64_t id = ranges.open(std::make_unique<Range>(), 0);
  EXPECT_GT(id, UINT32_MAX);
  EXPECT_NE(ranges.open(std::make_unique<Range>(), 0), id);
  // A tool that counts like we do loses only the id.
  const uint64_t taken = ranges.open(std::make_unique<Range>(), id + 2);
  EXPECT_EQ(taken, id + 2);
  EXPECT_GT(ranges.open(std::make_unique<Range>(), 0), taken);
}

TEST(MstxRanges, EndsOnce) {
  Ranges ranges;
  auto range = std::make_unique<Range>();
  range->parts[0] = {3, 44};
  const uint64_t id = ranges.open(std::move(range), 0);
  range = ranges.close(id);
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->parts[0].id, 44u);
  EXPECT_EQ(ranges.close(id), nullptr);
}

TEST(MstxRanges, GarbageIsNoRange) {
  Ranges ranges;
  for (const uint64_t id : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) EXPECT_EQ(ranges.close(id), nullptr);
}

TEST(MstxRanges, ALimitedNumberIsOpenAtOnce) {
  Ranges ranges;
  for (uint32_t i = 1; i < Ranges::kMax; ++i) ranges.open(std::make_unique<Range>(), i);
  EXPECT_FALSE(ranges.is_full());
  ranges.open(std::make_unique<Range>(), 0);
  EXPECT_TRUE(ranges.is_full());
  EXPECT_NE(ranges.close(1), nullptr);
  EXPECT_FALSE(ranges.is_full());
  EXPECT_EQ(ranges.close(1), nullptr);
  EXPECT_FALSE(ranges.is_full());
}

// All want the same few ids; each gets back what it put in.
TEST(MstxRanges, AnIdHasOneOwner) {
  Ranges ranges;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 2000; ++round) {
        uint64_t ids[5];
        for (uint64_t wanted = 0; wanted < 5; ++wanted) {
          auto range = std::make_unique<Range>();
          range->parts[0] = {t, 0};
          ids[wanted] = ranges.open(std::move(range), wanted);
        }
        for (const uint64_t id : ids) {
          const auto range = ranges.close(id);
          if (range == nullptr || range->parts[0].tool != t) ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace plat::mstx
