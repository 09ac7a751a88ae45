// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/range_table.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "inspect/model/range_map.h"

namespace plat::inspect {
namespace {

using Parts = std::vector<std::array<uint64_t, 3>>;

template <class Map>
Parts parts_of(const Map& map, uint64_t start, uint64_t end) {
  Parts parts;
  map.for_each(start, end, [&](uint64_t from, uint64_t to, int value) {
    parts.push_back({from, to, static_cast<uint64_t>(value)});
  });
  return parts;
}

TEST(RangeTable, GivingARangeAValueReplacesWhatWasThere) {
  RangeTable<int> table;
  table.assign(0, 100, 1);
  table.assign(40, 60, 2);
  EXPECT_EQ(parts_of(table, 0, 200), (Parts{{0, 40, 1}, {40, 60, 2}, {60, 100, 1}}));
  table.assign(10, 10, 3);
  table.assign(20, 10, 3);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(parts_of(table, 50, 70), (Parts{{50, 60, 2}, {60, 70, 1}}));
}

TEST(RangeTable, SaysWhatAValueReplaces) {
  RangeTable<int> table;
  table.assign(10, 20, 1);
  table.assign(20, 30, 2);
  Parts replaced;
  const auto note = [&](uint64_t from, uint64_t to, int value) {
    replaced.push_back({from, to, static_cast<uint64_t>(value)});
  };
  table.assign(0, 25, 3, note);
  EXPECT_EQ(replaced, (Parts{{10, 20, 1}, {20, 25, 2}}));
  replaced.clear();
  table.assign(0, 25, 4, note);  // exactly a range that is there
  EXPECT_EQ(replaced, (Parts{{0, 25, 3}}));
}

TEST(RangeTable, ErasesARangeAndLeavesWhatSticksOut) {
  RangeTable<int> table;
  table.assign(10, 20, 1);
  table.assign(30, 40, 2);
  table.erase(15, 35);
  EXPECT_EQ(parts_of(table, 0, 100), (Parts{{10, 15, 1}, {35, 40, 2}}));
  table.erase(11, 12);
  EXPECT_EQ(parts_of(table, 0, 100), (Parts{{10, 11, 1}, {12, 15, 1}, {35, 40, 2}}));
  table.erase(15, 35);  // nothing there
  EXPECT_EQ(table.size(), 3u);
  EXPECT_FALSE(table.meets(40, 50));
  EXPECT_TRUE(table.meets(39, 50));
  table.erase(0, 100);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(table.meets(0, 100));
  table.assign(1, 2, 3);
  EXPECT_EQ(parts_of(table, 0, 100), (Parts{{1, 2, 3}}));
}

// Many ranges, so that there are many leaves, and changes of all lengths.
TEST(RangeTable, IsWhatARangeMapIs) {
  for (const uint64_t longest : {8u, 400u, 30'000u}) {
    std::mt19937 random(7 + static_cast<unsigned>(longest));
    RangeMap<int> map;
    RangeTable<int> table;
    for (int step = 0; step < 20'000; ++step) {
      const uint64_t start = random() % 20'000, end = start + random() % longest;
      const int value = static_cast<int>(random() % 1000);
      if (random() % 3 == 0) {
        map.erase(start, end);
        table.erase(start, end);
      } else {
        map.assign(start, end, value);
        table.assign(start, end, value);
      }
      if (step % 3000 == 2999) {
        const auto is_over = [&](int old) { return old % 3 == 0; };
        map.erase_if(is_over);
        table.erase_if(is_over);
      }
      ASSERT_EQ(table.size(), map.size()) << step;
      const uint64_t at = random() % 20'000;
      ASSERT_EQ(parts_of(table, at, at + 50), parts_of(map, at, at + 50)) << step;
      if (step % 500 == 0) {
        ASSERT_EQ(parts_of(table, 0, 60'000), parts_of(map, 0, 60'000)) << step;
      }
    }
    table.clear();
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(parts_of(table, 0, 60'000), Parts{});
  }
}

}  // namespace
}  // namespace plat::inspect
