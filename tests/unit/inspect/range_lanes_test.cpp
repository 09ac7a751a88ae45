// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/range_lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "inspect/model/range_map.h"

namespace plat::inspect {
namespace {

struct LaneValue {
  uint32_t owner, number;
};
using LaneParts = std::vector<std::array<uint64_t, 4>>;  // owner, start, end, number

// Pieces of one value that touch are one: where they are cut is nobody's business.
LaneParts joined_lanes(LaneParts parts) {
  std::sort(parts.begin(), parts.end());
  LaneParts whole;
  for (const auto& part : parts)
    if (!whole.empty() && whole.back()[0] == part[0] && whole.back()[2] == part[1] &&
        whole.back()[3] == part[3])
      whole.back()[2] = part[2];
    else
      whole.push_back(part);
  return whole;
}

LaneParts lane_parts(const RangeLanes<LaneValue>& lanes, uint64_t start, uint64_t end) {
  LaneParts parts;
  lanes.for_each(start, end, [&](uint64_t first, uint64_t last, const LaneValue& value) {
    parts.push_back({value.owner, first, last, value.number});
  });
  return joined_lanes(parts);
}

TEST(RangeLanes, KeepsWhatSeveralHaveAtOnePlace) {
  RangeLanes<LaneValue> lanes;
  lanes.assign(1, 0, 100, {1, 10});
  lanes.assign(2, 50, 150, {2, 20});
  lanes.assign(1, 40, 60, {1, 11});  // in the place of its own
  EXPECT_EQ(lane_parts(lanes, 0, 200),
            (LaneParts{{1, 0, 40, 10}, {1, 40, 60, 11}, {1, 60, 100, 10}, {2, 50, 150, 20}}));
  EXPECT_EQ(lane_parts(lanes, 55, 70), (LaneParts{{1, 55, 60, 11}, {1, 60, 70, 10}, {2, 55, 70, 20}}));
}

TEST(RangeLanes, ErasesARangeOfAllAndLeavesWhatSticksOut) {
  RangeLanes<LaneValue> lanes;
  lanes.assign(1, 0, 100, {1, 10});
  lanes.assign(2, 0, uint64_t{1} << 30, {2, 20});
  LaneParts erased;
  lanes.erase(50, 70, [&](uint64_t first, uint64_t last, const LaneValue& value) {
    erased.push_back({value.owner, first, last, value.number});
  });
  EXPECT_EQ(joined_lanes(erased), (LaneParts{{1, 50, 70, 10}, {2, 50, 70, 20}}));
  EXPECT_EQ(lane_parts(lanes, 0, 120),
            (LaneParts{{1, 0, 50, 10}, {1, 70, 100, 10}, {2, 0, 50, 20}, {2, 70, 120, 20}}));
  lanes.erase_if([](const LaneValue& value) { return value.owner == 2; });
  EXPECT_EQ(lanes.size(), 2u);
}

TEST(RangeLanes, HaveRoomForRangesOfEveryLength) {
  for (unsigned bits = 0; bits <= 47; ++bits) {
    const uint64_t size = uint64_t{1} << bits;
    RangeLanes<LaneValue> lanes;
    lanes.assign(3, 0, size, {3, 1});
    lanes.assign(4, RangeLanes<LaneValue>::kAddresses - size, RangeLanes<LaneValue>::kAddresses, {4, 2});
    EXPECT_EQ(
        lane_parts(lanes, 0, RangeLanes<LaneValue>::kAddresses),
        (LaneParts{{3, 0, size, 1},
                   {4, RangeLanes<LaneValue>::kAddresses - size, RangeLanes<LaneValue>::kAddresses, 2}}))
        << bits;
    lanes.erase(0, RangeLanes<LaneValue>::kAddresses, [](uint64_t, uint64_t, const LaneValue&) {});
    EXPECT_EQ(lanes.size(), 0u) << bits;
  }
}

TEST(RangeLanes, LeavesOutWhatItHasNoRoomFor) {
  RangeLanes<LaneValue> lanes;
  lanes.assign(RangeLanes<LaneValue>::kOwners, 0, 100, {0, 1});
  lanes.assign(1, 0, RangeLanes<LaneValue>::kAddresses + 1, {1, 1});
  lanes.assign(1, 10, 10, {1, 1});
  EXPECT_EQ(lanes.size(), 0u);
  lanes.assign(RangeLanes<LaneValue>::kOwners - 1, RangeLanes<LaneValue>::kAddresses - 8,
               RangeLanes<LaneValue>::kAddresses, {7, 1});
  EXPECT_EQ(lane_parts(lanes, 0, ~uint64_t{0} >> 1).size(), 1u);
}

// One map for each owner. Of ranges of other lengths the lanes may keep older ones behind the newest.
TEST(RangeLanes, AreWhatAMapForEachOwnerIs) {
  for (const uint64_t longest : {60u, 5'000u, 400'000u}) {
    std::mt19937 random(static_cast<unsigned>(longest));
    std::map<uint32_t, RangeMap<uint32_t>> maps;
    RangeLanes<LaneValue> lanes;
    for (uint32_t step = 1; step < 6000; ++step) {
      const uint32_t owner = random() % 5;
      const uint64_t start = random() % 1'000'000, end = start + 1 + random() % longest;
      if (random() % 3 == 0) {
        for (auto& [number, map] : maps) map.erase(start, end);
        lanes.erase(start, end, [](uint64_t, uint64_t, const LaneValue&) {});
      } else {
        maps[owner].assign(start, end, step);
        lanes.assign(owner, start, end, {owner, step});
      }
      const uint64_t from = random() % 1'000'000, to = from + 1 + random() % 3000;
      std::map<uint32_t, RangeMap<uint32_t>> newest;
      std::map<uint32_t, LaneParts> seen;
      lanes.for_each(from, to, [&](uint64_t first, uint64_t last, const LaneValue& value) {
        seen[value.number].push_back({value.owner, first, last, value.number});
      });
      for (const auto& [number, parts] : seen)
        for (const auto& [who, first, last, same] : parts)
          newest[static_cast<uint32_t>(who)].assign(first, last, number);
      LaneParts mine, expected;
      const auto collect = [&](auto& from_maps, LaneParts& into) {
        for (const auto& [who, map] : from_maps)
          map.for_each(from, to, [&, who = who](uint64_t first, uint64_t last, uint32_t number) {
            into.push_back({who, first, last, number});
          });
      };
      collect(newest, mine);
      collect(maps, expected);
      ASSERT_EQ(joined_lanes(mine), joined_lanes(expected)) << longest << " step " << step;
    }
    lanes.erase(0, 10'000'000, [](uint64_t, uint64_t, const LaneValue&) {});
    EXPECT_EQ(lanes.size(), 0u);
  }
}

}  // namespace
}  // namespace plat::inspect
