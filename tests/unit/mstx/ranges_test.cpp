// SPDX-License-Identifier: Apache-2.0
#include "mstx/ranges.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace plat::mstx {
namespace {

TEST(MstxRanges, AnIdIsNeverZeroAndNeedsAllItsBits) {
  Ranges ranges;
  uint32_t slot = 0;
  ASSERT_NE(ranges.take(slot), nullptr);
  EXPECT_GT(ranges.open(slot), UINT32_MAX);
}

TEST(MstxRanges, EndsOnce) {
  Ranges ranges;
  uint32_t slot = 0, closed = 0;
  ranges.take(slot)->parts[0] = {3, 44};
  const uint64_t id = ranges.open(slot);
  ASSERT_NE(ranges.close(id, closed), nullptr);
  EXPECT_EQ(ranges.close(id, closed), nullptr);
  ranges.give_back(slot);
  ASSERT_NE(ranges.take(slot), nullptr);
  EXPECT_NE(ranges.open(slot), id);
  EXPECT_EQ(ranges.close(id, closed), nullptr);
}

TEST(MstxRanges, GarbageIsNoRange) {
  Ranges ranges;
  uint32_t slot = 0;
  EXPECT_EQ(ranges.close(0, slot), nullptr);
  EXPECT_EQ(ranges.close(1, slot), nullptr);
  EXPECT_EQ(ranges.close(UINT64_MAX, slot), nullptr);
}

TEST(MstxRanges, ALimitedNumberIsOpenAtOnce) {
  Ranges ranges;
  uint32_t slot = 0;
  for (uint32_t i = 0; i < Ranges::kMax; ++i) ASSERT_NE(ranges.take(slot), nullptr);
  uint32_t more = 0;
  EXPECT_EQ(ranges.take(more), nullptr);
  ranges.give_back(slot);
  EXPECT_NE(ranges.take(more), nullptr);
}

// Each thread writes its own number into the ranges it holds: a record that two held at once would show.
TEST(MstxRanges, ARecordHasOneOwner) {
  Ranges ranges;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 2000; ++round) {
        uint64_t ids[5];
        for (uint64_t& id : ids) {
          uint32_t slot = 0;
          ranges.take(slot)->parts[0] = {t, 0};
          id = ranges.open(slot);
        }
        for (uint64_t id : ids) {
          uint32_t slot = 0;
          const RangeRecord* record = ranges.close(id, slot);
          if (record == nullptr || record->parts[0].tool != t) ++wrong;
          ranges.give_back(slot);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace plat::mstx
