// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace plat::inspect {
namespace {

using Points = std::vector<Timeline::Point>;

TEST(Timeline, KeepsFewPointsAsTheyAre) {
  Timeline timeline;
  timeline.add(10, 5);
  timeline.add(20, 7);
  timeline.add(30, 0);
  EXPECT_EQ(timeline.points(), (Points{{10, 5}, {20, 7}, {30, 0}}));
}

TEST(Timeline, OfALongRunTheStartIsAsFineAsTheEnd) {
  constexpr uint64_t kSteps = 1'000'000, kParts = 72;
  Timeline timeline;
  for (uint64_t i = 1; i <= kSteps; ++i) timeline.add(i * 1000, i % 100);
  const Points points = timeline.points();
  EXPECT_LE(points.size(), 2 * Timeline::kSlicesMax);
  for (uint64_t part = 0; part < kParts; ++part) {
    const auto [from, to] = std::pair(kSteps * 1000 / kParts * part, kSteps * 1000 / kParts * (part + 1));
    const auto inside = std::count_if(points.begin(), points.end(),
                                      [&](auto& point) { return point.first >= from && point.first < to; });
    EXPECT_GE(inside, 20) << part;
    EXPECT_TRUE(std::any_of(points.begin(), points.end(), [&](auto& point) {
      return point.first >= from && point.first < to && point.second == 99;
    })) << part;
  }
}

TEST(Timeline, KeepsThePeakAndHowItEnded) {
  Timeline timeline;
  for (uint64_t i = 0; i < 100'000; ++i) timeline.add(i * 77, i == 31'415 ? 1000 : 10);
  timeline.add(100'000 * 77, 3);
  const Points points = timeline.points();
  EXPECT_EQ(std::count(points.begin(), points.end(), Timeline::Point(31'415 * 77, 1000)), 1);
  EXPECT_EQ(points.back(), Timeline::Point(100'000 * 77, 3));
  EXPECT_TRUE(
      std::is_sorted(points.begin(), points.end(), [](auto& a, auto& b) { return a.first < b.first; }));
}

TEST(Timeline, TakesTimesThatDoNotRiseAsTheLast) {
  Timeline timeline;
  timeline.add(50, 1);
  timeline.add(40, 2);
  EXPECT_EQ(timeline.points(), (Points{{50, 2}}));
}

}  // namespace
}  // namespace plat::inspect
