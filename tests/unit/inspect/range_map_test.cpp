// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/range_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plat::inspect {
namespace {

TEST(RangeMap, GivingARangeAValueReplacesWhatWasThere) {
  RangeMap<int> map;
  map.assign(0, 100, 1);
  map.assign(40, 60, 2);
  std::vector<std::array<uint64_t, 3>> parts;
  map.for_each([&](uint64_t start, uint64_t end, int value) {
    parts.push_back({start, end, static_cast<uint64_t>(value)});
  });
  EXPECT_EQ(parts, (std::vector<std::array<uint64_t, 3>>{{0, 40, 1}, {40, 60, 2}, {60, 100, 1}}));
}

TEST(RangeMap, EmptyAndBackwardRangesChangeNothing) {
  RangeMap<int> map;
  map.assign(10, 10, 1);
  map.assign(20, 10, 1);
  map.erase(5, 5);
  EXPECT_EQ(map.size(), 0u);
}

TEST(RangeMap, FindsNeighbours) {
  RangeMap<int> map;
  map.assign(0, 10, 1);
  map.assign(30, 40, 2);
  RangeMap<int>::Range range;
  EXPECT_FALSE(map.find(20, range));
  ASSERT_TRUE(map.find_before(20, range));
  EXPECT_EQ(range.value, 1);
  ASSERT_TRUE(map.find_after(20, range));
  EXPECT_EQ(range.value, 2);
  ASSERT_TRUE(map.find_before(35, range));
  EXPECT_EQ(range.value, 1);
}

TEST(RangeMap, AgreesWithAnArray) {
  std::mt19937 random(7);
  RangeMap<int> map;
  std::vector<int> array(256, 0);
  for (int step = 0; step < 20000; ++step) {
    const uint64_t start = random() % 256;
    const uint64_t end = start + random() % (257 - start);
    const int value = static_cast<int>(random() % 5);
    if (value == 0) {
      map.erase(start, end);
    } else {
      map.assign(start, end, value);
    }
    for (uint64_t i = start; i < end; ++i) array[i] = value;
    const uint64_t probe = random() % 256;
    RangeMap<int>::Range range;
    ASSERT_EQ(map.find(probe, range) ? range.value : 0, array[probe]) << step;
  }
}

}  // namespace
}  // namespace plat::inspect
