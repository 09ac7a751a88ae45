// SPDX-License-Identifier: Apache-2.0
// The heap against a map of bytes: what it hands out, what it says is backed, and what it says could move.
#include "core/range_heap_idle.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plat::core {
namespace {

constexpr uint32_t kPage = 64;  // granules, small so that pages matter
constexpr uint32_t kPages = 256;

class HeapModel {
 public:
  explicit HeapModel(uint64_t seed) : random_(seed), owner_(kPage * kPages, 0), backed_(kPages, false) {
    heap_.append(kPage * kPages);
  }

  void step() {
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
      case 3:
        return allocate();
      case 4:
      case 5:
        return release();
      case 6:
        return unmap();
      default:
        heap_.settle(static_cast<uint16_t>(1 + random_() % 2), UINT32_MAX / 2);
    }
  }

  void check() {
    uint32_t backed = 0;
    uint32_t movable = 0;
    uint32_t at = 0;
    uint64_t free[3] = {};
    std::vector<bool> idle(owner_.size(), false);
    for (RangeId id = heap_.first_block(); id != kNoBlock; id = heap_.block(id).next) {
      const Block& block = heap_.block(id);
      if (block.state == BlockState::kFence) continue;
      ASSERT_EQ(block.start, at) << "ranges follow each other";
      at += block.size;
      for (uint32_t g = block.start; g < block.start + block.size; ++g) {
        ASSERT_EQ(block.state == BlockState::kLive, owner_[g] != 0);
        ASSERT_EQ(block.state != BlockState::kHole, backed_[g / kPage]);
        idle[g] = block.state == BlockState::kFree && block.domain == 0;
      }
      if (block.state == BlockState::kFree) free[block.domain] += block.size;
    }
    ASSERT_EQ(at, owner_.size());
    // A page counts as movable when one range of nobody covers it; merging makes that the same as all its
    // granules being idle.
    for (uint32_t page = 0; page < kPages; ++page) {
      backed += backed_[page];
      bool whole = true;
      for (uint32_t g = page * kPage; g < (page + 1) * kPage; ++g) whole = whole && idle[g];
      movable += whole;
    }
    ASSERT_EQ(heap_.mapped_pages(), backed);
    ASSERT_EQ(heap_.movable_pages(), movable);
    for (uint16_t domain = 0; domain < 3; ++domain) ASSERT_EQ(heap_.free_granules(domain), free[domain]);
  }

 private:
  void allocate() {
    const uint32_t size = 1 + static_cast<uint32_t>(random_() % (random_() % 4 == 0 ? 5 * kPage : kPage));
    const uint32_t align = random_() % 2 == 0 ? 1 : 1u << (random_() % 7);
    const auto domain = static_cast<uint16_t>(random_() % 3);
    const bool idle = align == 1 && domain == 0 && random_() % 2 == 0;
    RangeId id = idle ? heap_.allocate_idle(size) : heap_.allocate(size, align, domain);
    if (id == kNoBlock) {
      const RangePlan plan = heap_.plan(size, align, domain, random_() % 2 == 0);
      if (!plan.found) return;
      std::vector<PageRun> missing;
      heap_.missing(plan, missing);
      uint32_t count = 0;
      for (const PageRun& run : missing) {
        count += run.count;
        for (uint32_t page = run.first; page < run.first + run.count; ++page) backed_[page] = true;
        heap_.map(run);
      }
      ASSERT_EQ(count, plan.missing_pages);
      id = heap_.take(plan, domain);
    }
    const Block& block = heap_.block(id);
    ASSERT_EQ(block.size, size);
    ASSERT_EQ(block.start % align, 0u);
    for (uint32_t g = block.start; g < block.start + size; ++g) {
      ASSERT_EQ(owner_[g], 0u) << "two owners";
      ASSERT_TRUE(backed_[g / kPage]) << "no page behind it";
      owner_[g] = id.value + 1;
    }
    live_.push_back(id);
  }
  void release() {
    if (live_.empty()) return;
    const size_t pick = random_() % live_.size();
    const Block block = heap_.block(live_[pick]);
    for (uint32_t g = block.start; g < block.start + block.size; ++g) owner_[g] = 0;
    const auto domain = static_cast<uint16_t>(random_() % 3);
    if (domain == 0 && random_() % 2 == 0)
      heap_.release_idle(live_[pick]);
    else
      heap_.release(live_[pick], domain, 1);
    live_[pick] = live_.back();
    live_.pop_back();
  }
  void unmap() {
    const MovableRun run = heap_.movable(1 + static_cast<uint32_t>(random_() % 4), RangePlan{});
    if (run.pages.count == 0) return;
    for (uint32_t page = run.pages.first; page < run.pages.first + run.pages.count; ++page)
      backed_[page] = false;
    heap_.unmap(run);
  }

  std::mt19937_64 random_;
  RangeHeap heap_{kPage};
  std::vector<uint32_t> owner_;
  std::vector<bool> backed_;
  std::vector<RangeId> live_;
};

TEST(RangeHeap, AgreesWithAMapOfBytes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    HeapModel model(seed);
    for (int i = 0; i < 600; ++i) {
      model.step();
      if (i % 20 == 0) model.check();
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << i;
    }
  }
}

// The short ways put every block where the long ones do.
TEST(RangeHeap, PlacesTheSameOnTheShortWay) {
  std::mt19937_64 random(7);
  RangeHeap heaps[2] = {RangeHeap(kPage), RangeHeap(kPage)};
  for (RangeHeap& heap : heaps)
    for (int space = 0; space < 3; ++space) heap.append(kPage * kPages, true);
  std::vector<RangeId> live[2];
  for (int i = 0; i < 20000; ++i) {
    if (random() % 9 < 5) {
      const auto size = static_cast<uint32_t>(1 + random() % (random() % 8 == 0 ? 4 * kPage : 40));
      const RangeId ids[] = {heaps[0].allocate(size, 1, 0), heaps[1].allocate_idle(size)};
      ASSERT_EQ(ids[0] == kNoBlock, ids[1] == kNoBlock) << i;
      if (ids[0] == kNoBlock) continue;
      ASSERT_EQ(heaps[0].block(ids[0]).start, heaps[1].block(ids[1]).start) << i;
      for (int h = 0; h < 2; ++h) live[h].push_back(ids[h]);
    } else if (!live[0].empty()) {
      const size_t pick = random() % live[0].size();
      heaps[0].release(live[0][pick]);
      heaps[1].release_idle(live[1][pick]);
      for (auto& ids : live) {
        ids[pick] = ids.back();
        ids.pop_back();
      }
    }
    ASSERT_EQ(heaps[0].movable_pages(), heaps[1].movable_pages()) << i;
    ASSERT_EQ(heaps[0].free_granules(0), heaps[1].free_granules(0)) << i;
  }
  EXPECT_GT(live[0].size(), 100u);
}

TEST(RangeHeap, PrefersTheTightestRange) {
  RangeHeap heap(kPage);
  heap.append(kPage * 4, true);
  const RangeId a = heap.allocate(20, 1, 0);
  const RangeId wall = heap.allocate(1, 1, 0);
  const RangeId b = heap.allocate(10, 1, 0);
  heap.allocate(1, 1, 0);
  const uint32_t b_start = heap.block(b).start;
  heap.release(a);
  heap.release(b);
  EXPECT_EQ(heap.block(heap.allocate(10, 1, 0)).start, b_start);
  EXPECT_EQ(heap.block(wall).size, 1u);
}

TEST(RangeHeap, RevivesASpaceThatWasRetired) {
  RangeHeap heap(kPage);
  heap.append(kPage * 4, true);
  const RangeId first = heap.newest();
  heap.append(kPage, true);
  const RangeId block = heap.allocate(kPage * 3, 1, 0);
  EXPECT_FALSE(heap.retire(first));
  heap.release(block);
  for (const uint32_t pages : {2u, 4u, 1u}) {
    ASSERT_TRUE(heap.retire(first));
    EXPECT_EQ(heap.movable_pages(), 1u);
    EXPECT_EQ(heap.allocate(kPage + 1, 1, 0), kNoBlock);
    heap.revive(first, kPage * pages);
    EXPECT_EQ(heap.movable_pages(), pages + 1);
    EXPECT_EQ(heap.allocate(kPage * pages + 1, 1, 0), kNoBlock);
    const RangeId ids[] = {heap.allocate(kPage - 1, 1, 0), heap.allocate(kPage, 1, 0)};
    for (const RangeId id : ids) heap.release(id);
  }
}

TEST(RangeHeap, NeverJoinsSpaces) {
  RangeHeap heap(kPage);
  heap.append(kPage, true);
  heap.append(kPage, true);
  EXPECT_EQ(heap.allocate(kPage + 1, 1, 0), kNoBlock);
  EXPECT_NE(heap.allocate(kPage, 1, 0), kNoBlock);
  EXPECT_NE(heap.allocate(kPage, 1, 0), kNoBlock);
}

}  // namespace
}  // namespace plat::core
