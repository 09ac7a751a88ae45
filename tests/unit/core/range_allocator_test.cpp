// SPDX-License-Identifier: Apache-2.0
#include "core/range_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace plat::core {
namespace {

TEST(RangeAllocator, TakesTheTightestRangeAtItsLowestAddress) {
  RangeAllocator ranges;
  ranges.add(0x1000, 0x9000);
  ranges.add(0x20000, 0x22000);
  EXPECT_EQ(ranges.allocate(0x1000, 0x1000), 0x20000u);
  EXPECT_EQ(ranges.allocate(0x2000, 0x4000), 0x4000u);
  EXPECT_EQ(ranges.largest_free(), 0x3000u);  // on both sides of what was taken
}

TEST(RangeAllocator, GivesBackAndCoalesces) {
  RangeAllocator ranges;
  ranges.add(0, 0x4000);
  const auto a = ranges.allocate(0x1000, 1), b = ranges.allocate(0x1000, 1), c = ranges.allocate(0x2000, 1);
  ASSERT_TRUE(a && b && c);
  EXPECT_FALSE(ranges.allocate(1, 1));
  ranges.release(*a, 0x1000);
  ranges.release(*c, 0x2000);
  EXPECT_FALSE(ranges.allocate(0x3000, 1));
  ranges.release(*b, 0x1000);
  EXPECT_EQ(ranges.allocate(0x4000, 1), 0u);
}

TEST(RangeAllocator, TakesAGivenRangeOnlyWhenAllOfItIsFree) {
  RangeAllocator ranges;
  ranges.add(0x1000, 0x5000);
  EXPECT_FALSE(ranges.allocate_at(0, 0x1000));
  EXPECT_FALSE(ranges.allocate_at(0x4000, 0x2000));
  EXPECT_FALSE(ranges.allocate_at(0x2000, UINT64_MAX));
  EXPECT_TRUE(ranges.allocate_at(0x2000, 0x1000));
  EXPECT_FALSE(ranges.allocate_at(0x2000, 0x1000));
  EXPECT_FALSE(ranges.allocate_at(0x1000, 0x1001));
  EXPECT_TRUE(ranges.allocate_at(0x1000, 0x1000));
  EXPECT_EQ(ranges.free_bytes(), 0x2000u);
}

// A naive allocator that knows every unit by itself.
struct Naive {
  std::vector<bool> used;
  bool is_free(uint64_t start, uint64_t size) const {
    return start + size <= used.size() &&
           std::none_of(used.begin() + static_cast<long>(start),
                        used.begin() + static_cast<long>(start + size), [](bool bit) { return bit; });
  }
  void mark(uint64_t start, uint64_t size, bool value) {
    std::fill_n(used.begin() + static_cast<long>(start), size, value);
  }
  bool fits(uint64_t size, uint64_t alignment) const {
    for (uint64_t start = 0; start + size <= used.size(); start += alignment)
      if (is_free(start, size)) return true;
    return false;
  }
};

TEST(RangeAllocator, AgreesWithANaiveOne) {
  constexpr uint64_t kUnits = 512;
  RangeAllocator ranges;
  ranges.add(0, kUnits);
  Naive naive{std::vector<bool>(kUnits)};
  std::vector<std::pair<uint64_t, uint64_t>> live;
  std::mt19937 random(3);
  for (int step = 0; step < 20000; ++step) {
    const uint64_t size = 1 + random() % 40;
    const uint64_t alignment = uint64_t{1} << random() % 6;
    switch (live.size() > 24 ? 2 : random() % 4) {
      case 0: {
        const auto start = ranges.allocate(size, alignment);
        ASSERT_EQ(start.has_value(), naive.fits(size, alignment)) << "step " << step;
        if (!start) break;
        ASSERT_EQ(*start % alignment, 0u);
        ASSERT_TRUE(naive.is_free(*start, size)) << "step " << step;
        naive.mark(*start, size, true);
        live.emplace_back(*start, size);
        break;
      }
      case 1: {
        const uint64_t start = random() % kUnits;
        const bool free = naive.is_free(start, size);
        ASSERT_EQ(ranges.allocate_at(start, size), free) << "step " << step;
        if (!free) break;
        naive.mark(start, size, true);
        live.emplace_back(start, size);
        break;
      }
      default: {
        if (live.empty()) break;
        const size_t victim = random() % live.size();
        ranges.release(live[victim].first, live[victim].second);
        naive.mark(live[victim].first, live[victim].second, false);
        live.erase(live.begin() + static_cast<long>(victim));
      }
    }
    const auto free = static_cast<uint64_t>(std::count(naive.used.begin(), naive.used.end(), false));
    ASSERT_EQ(ranges.free_bytes(), free) << "step " << step;
    ASSERT_EQ(naive.fits(ranges.largest_free(), 1), true);
    ASSERT_FALSE(naive.fits(ranges.largest_free() + 1, 1));
  }
}

}  // namespace
}  // namespace plat::core
