// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/owner_ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "inspect/model/range_map.h"

namespace plat::inspect {
namespace {

struct OwnedValue {
  uint32_t owner, number;
};
using OwnedParts = std::vector<std::array<uint64_t, 4>>;  // owner, start, end, number

// Pieces of one value that touch are one: where they are cut is nobody's business.
OwnedParts joined(OwnedParts parts) {
  std::sort(parts.begin(), parts.end());
  OwnedParts whole;
  for (const auto& part : parts)
    if (!whole.empty() && whole.back()[0] == part[0] && whole.back()[2] == part[1] &&
        whole.back()[3] == part[3])
      whole.back()[2] = part[2];
    else
      whole.push_back(part);
  return whole;
}

OwnedParts parts_of(const OwnerRanges<OwnedValue>& ranges, uint64_t start, uint64_t end) {
  OwnedParts parts;
  ranges.for_each(start, end, [&](uint64_t first, uint64_t last, const OwnedValue& value) {
    parts.push_back({value.owner, first, last, value.number});
  });
  return joined(parts);
}

TEST(OwnerRanges, KeepsWhatSeveralHaveAtOnePlace) {
  OwnerRanges<OwnedValue> ranges;
  ranges.assign(1, 0, 100, {1, 10});
  ranges.assign(2, 50, 150, {2, 20});
  ranges.assign(1, 40, 60, {1, 11});  // in the place of its own
  EXPECT_EQ(parts_of(ranges, 0, 200),
            (OwnedParts{{1, 0, 40, 10}, {1, 40, 60, 11}, {1, 60, 100, 10}, {2, 50, 150, 20}}));
  EXPECT_EQ(parts_of(ranges, 55, 70), (OwnedParts{{1, 55, 60, 11}, {1, 60, 70, 10}, {2, 55, 70, 20}}));
}

TEST(OwnerRanges, ErasesARangeOfAllAndLeavesWhatSticksOut) {
  OwnerRanges<OwnedValue> ranges;
  ranges.assign(1, 0, 100, {1, 10});
  ranges.assign(2, 0, uint64_t{1} << 30, {2, 20});
  OwnedParts erased;
  ranges.erase(50, 70, [&](uint64_t first, uint64_t last, const OwnedValue& value) {
    erased.push_back({value.owner, first, last, value.number});
  });
  EXPECT_EQ(joined(erased), (OwnedParts{{1, 50, 70, 10}, {2, 50, 70, 20}}));
  EXPECT_EQ(parts_of(ranges, 0, 120),
            (OwnedParts{{1, 0, 50, 10}, {1, 70, 100, 10}, {2, 0, 50, 20}, {2, 70, 120, 20}}));
  ranges.erase_if([](const OwnedValue& value) { return value.owner == 2; });
  EXPECT_EQ(ranges.size(), 2u);
}

TEST(OwnerRanges, HaveRoomForRangesOfEveryLength) {
  for (unsigned bits = 0; bits <= 47; ++bits) {
    const uint64_t size = uint64_t{1} << bits;
    OwnerRanges<OwnedValue> ranges;
    ranges.assign(3, 0, size, {3, 1});
    ranges.assign(4, OwnerRanges<OwnedValue>::kAddresses - size, OwnerRanges<OwnedValue>::kAddresses, {4, 2});
    EXPECT_EQ(
        parts_of(ranges, 0, OwnerRanges<OwnedValue>::kAddresses),
        (OwnedParts{{3, 0, size, 1},
                    {4, OwnerRanges<OwnedValue>::kAddresses - size, OwnerRanges<OwnedValue>::kAddresses, 2}}))
        << bits;
    ranges.erase(0, OwnerRanges<OwnedValue>::kAddresses, [](uint64_t, uint64_t, const OwnedValue&) {});
    EXPECT_EQ(ranges.size(), 0u) << bits;
  }
}

TEST(OwnerRanges, LeavesOutWhatItHasNoRoomFor) {
  OwnerRanges<OwnedValue> ranges;
  ranges.assign(OwnerRanges<OwnedValue>::kOwners, 0, 100, {0, 1});
  ranges.assign(1, 0, OwnerRanges<OwnedValue>::kAddresses + 1, {1, 1});
  ranges.assign(1, 10, 10, {1, 1});
  EXPECT_EQ(ranges.size(), 0u);
  ranges.assign(OwnerRanges<OwnedValue>::kOwners - 1, OwnerRanges<OwnedValue>::kAddresses - 8,
                OwnerRanges<OwnedValue>::kAddresses, {7, 1});
  EXPECT_EQ(parts_of(ranges, 0, ~uint64_t{0} >> 1).size(), 1u);
}

// One map for each owner. Of ranges of other lengths the ranges may keep older ones behind the newest.
TEST(OwnerRanges, AreWhatAMapForEachOwnerIs) {
  for (const uint64_t longest : {60u, 5'000u, 400'000u}) {
    std::mt19937 random(static_cast<unsigned>(longest));
    std::map<uint32_t, RangeMap<uint32_t>> maps;
    OwnerRanges<OwnedValue> ranges;
    for (uint32_t step = 1; step < 6000; ++step) {
      const uint32_t owner = random() % 5;
      const uint64_t start = random() % 1'000'000, end = start + 1 + random() % longest;
      if (random() % 3 == 0) {
        for (auto& [number, map] : maps) map.erase(start, end);
        ranges.erase(start, end, [](uint64_t, uint64_t, const OwnedValue&) {});
      } else {
        maps[owner].assign(start, end, step);
        ranges.assign(owner, start, end, {owner, step});
      }
      const uint64_t from = random() % 1'000'000, to = from + 1 + random() % 3000;
      std::map<uint32_t, RangeMap<uint32_t>> newest;
      std::map<uint32_t, OwnedParts> seen;
      ranges.for_each(from, to, [&](uint64_t first, uint64_t last, const OwnedValue& value) {
        seen[value.number].push_back({value.owner, first, last, value.number});
      });
      for (const auto& [number, parts] : seen)
        for (const auto& [who, first, last, same] : parts)
          newest[static_cast<uint32_t>(who)].assign(first, last, number);
      OwnedParts mine, expected;
      const auto collect = [&](auto& from_maps, OwnedParts& into) {
        for (const auto& [who, map] : from_maps)
          map.for_each(from, to, [&, who = who](uint64_t first, uint64_t last, uint32_t number) {
            into.push_back({who, first, last, number});
          });
      };
      collect(newest, mine);
      collect(maps, expected);
      ASSERT_EQ(joined(mine), joined(expected)) << longest << " step " << step;
    }
    ranges.erase(0, 10'000'000, [](uint64_t, uint64_t, const OwnedValue&) {});
    EXPECT_EQ(ranges.size(), 0u);
  }
}

}  // namespace
}  // namespace plat::inspect
