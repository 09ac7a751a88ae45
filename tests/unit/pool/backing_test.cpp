// SPDX-License-Identifier: Apache-2.0
#include "pool/backing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_source.h"
#include "pool/ladder.h"

namespace plat::test {
namespace {

using pool::Backing;
using pool::kPageBytes;
using pool::Outcome;

class BackingTest : public ::testing::Test, private pool::SpaceWatcher {
 protected:
  BackingTest() { plat_pool_options_init(&options); }
  void space_added(pool::Space&) override { ++spaces; }
  void space_removed(pool::Space&) override { --spaces; }
  static uint32_t granules(uint64_t bytes) { return static_cast<uint32_t>(bytes >> core::kGranuleShift); }
  Outcome place(uint64_t bytes, core::RangeId* block) {
    return backing.place(zones.large(), granules(bytes), 1, 0, block);
  }
  void release(core::RangeId block) { zones.large().heap().release(block); }

  plat_pool_options options;
  FakeSource source{8};
  pool::Family family{nullptr};
  pool::SpaceIndex index;
  pool::Zones zones{index, nullptr, false};
  int spaces = 0;
  Backing backing{options, source, family, zones, index, *this};
};

TEST_F(BackingTest, BringsInWhatABlockNeedsAndGivesItBack) {
  core::RangeId block;
  ASSERT_EQ(place(5_MiB, &block), Outcome::kDone);
  EXPECT_EQ(spaces, 1);
  EXPECT_EQ(backing.held_bytes(), 6_MiB);
  EXPECT_EQ(source.mapped.size(), 3u);
  release(block);
  EXPECT_TRUE(backing.trim(0));
  EXPECT_EQ(backing.held_bytes(), 0u);
  EXPECT_TRUE(source.mapped.empty());
  EXPECT_TRUE(backing.close());
  EXPECT_EQ(spaces, 0);
  EXPECT_EQ(source.ranges, 0);
}

TEST_F(BackingTest, MovesPagesWhenTheDeviceIsAtItsEnd) {
  core::RangeId blocks[4];
  for (core::RangeId& block : blocks) ASSERT_EQ(place(4_MiB, &block), Outcome::kDone);
  release(blocks[0]);
  release(blocks[2]);
  core::RangeId long_one;
  ASSERT_EQ(place(8_MiB, &long_one), Outcome::kDone);
  EXPECT_TRUE(backing.is_full());
  plat_pool_stats stats{};
  backing.add_stats(stats);
  EXPECT_GT(stats.remaps, 0u);
  EXPECT_EQ(stats.reserved_bytes, 16_MiB);
  EXPECT_TRUE(backing.close());
}

TEST_F(BackingTest, LosesNoPageWhenMappingFails) {
  core::RangeId block;
  source.refuses_to_map = true;
  EXPECT_EQ(place(6_MiB, &block), Outcome::kFailed);
  EXPECT_EQ(backing.spare_bytes(), backing.held_bytes());
  EXPECT_TRUE(backing.trim_spare(0));
  EXPECT_EQ(source.left, 8u);
  EXPECT_TRUE(backing.close());
}

TEST_F(BackingTest, HandsOutPagesAllOrNone) {
  std::vector<void*> pages;
  EXPECT_EQ(backing.take_pages(9, pages), Outcome::kNoMemory);
  EXPECT_TRUE(pages.empty());
  EXPECT_EQ(backing.spare_bytes(), 8 * kPageBytes) << "had, and kept";
  EXPECT_EQ(backing.take_pages(8, pages), Outcome::kDone);
  EXPECT_EQ(pages.size(), 8u);
  backing.keep_pages(pages);
  EXPECT_TRUE(backing.close());
  EXPECT_EQ(source.left, 8u);
}

TEST(ZonesTest, GiveTagsAndThreadsTheirOwn) {
  pool::SpaceIndex index;
  pool::Zones zones(index, nullptr, false);
  EXPECT_NE(zones.of_tag(3, true).spans(), nullptr);
  EXPECT_EQ(zones.of_tag(3, false).spans(), nullptr);
  EXPECT_EQ(&zones.of_tag(3, false), &zones.of_tag(3, false));
  EXPECT_EQ(zones.of_thread(0), nullptr);
  std::array<uint32_t, pool::Zones::kMaxOfThreads> users{};
  users[0] = 1;
  const uint32_t number = zones.add_for_thread(users);
  EXPECT_EQ(number, 2u) << "the first that nobody has";
  EXPECT_NE(zones.of_thread(number), &zones.large());
  int count = 0;
  zones.for_each([&](pool::Zone&) { ++count; });
  EXPECT_EQ(count, 5);
}

// Cheap ones first, and what makes others wait or disturbs other pools last.
TEST(LadderTest, HasItsRungsInATable) {
  std::string all;
  for (const auto& rung : pool::Ladder::rungs()) all += std::string(rung.name) + "; ";
  EXPECT_EQ(all,
            "return what threads keep; ask the streams how far they are; make the stream wait for others, if "
            "it may; wait for the streams; take what is idle in other pools; ");
}

}  // namespace
}  // namespace plat::test
