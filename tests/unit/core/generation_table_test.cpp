// SPDX-License-Identifier: Apache-2.0
#include "core/generation_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace plat::core {
namespace {

template <class Table>
Handle put(Table& table, int value) {
  const Handle handle = table.take();
  if (handle) table.at(handle.index) = value;
  return handle;
}

TEST(GenerationTable, FindsWhatLivesAndNothingElse) {
  GenerationTable<int> table;
  EXPECT_EQ(table.live(Handle{}), nullptr);
  const Handle handle = put(table, 7);
  ASSERT_NE(table.live(handle), nullptr);
  EXPECT_EQ(*table.live(handle), 7);
  EXPECT_EQ(table.handle_at(handle.index), handle);
  EXPECT_EQ(table.live(Handle{handle.index, 0}), nullptr);
  EXPECT_EQ(table.known(Handle{handle.index, 0}), nullptr);
  EXPECT_EQ(table.live(Handle{handle.index, handle.generation + 1}), nullptr);
  EXPECT_EQ(table.live(Handle{handle.index, handle.generation | 1u << 31}), nullptr);
  EXPECT_EQ(table.live(Handle{handle.index + 1, handle.generation}), nullptr);
  EXPECT_EQ(table.live(Handle{UINT32_MAX, UINT32_MAX}), nullptr);
}

TEST(GenerationTable, AStaleHandleIsNotTheNextOneAtItsPlace) {
  GenerationTable<int> table;
  const Handle stale = put(table, 1);
  table.give_back(stale);
  EXPECT_EQ(table.live(stale), nullptr);
  const Handle next = put(table, 2);
  EXPECT_EQ(next.index, stale.index);
  EXPECT_FALSE(next == stale);
  EXPECT_EQ(table.live(stale), nullptr);
  EXPECT_EQ(table.known(stale), nullptr);
  table.give_back(stale);  // which is not the one that lives
  EXPECT_EQ(*table.live(next), 2);
}

TEST(GenerationTable, AGivenBackRecordIsKnownUntilItsPlaceIsTakenAgain) {
  using Table = GenerationTable<int, TableShape{.resting = 256}>;
  Table table;
  const Handle first = put(table, 7);
  table.give_back(first);
  EXPECT_EQ(table.live(first), nullptr);
  ASSERT_NE(table.known(first), nullptr);
  EXPECT_EQ(*table.known(first), 7);
  for (uint32_t i = 0; i < Table::kResting; ++i) table.give_back(put(table, 0));
  const Handle again = put(table, 8);
  EXPECT_EQ(again.index, first.index);
  EXPECT_EQ(table.known(first), nullptr);
  EXPECT_EQ(*table.live(again), 8);
}

TEST(GenerationTable, GivingBackTwiceIsGivingBackOnce) {
  GenerationTable<int> table;
  const Handle handle = put(table, 1);
  put(table, 2);
  table.give_back(handle);
  table.give_back(handle);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_NE(put(table, 3).index, put(table, 4).index);
}

TEST(GenerationTable, WhenItIsFullEvenRestingPlacesAreTaken) {
  GenerationTable<int, TableShape{.resting = 4, .chunk_size = 2, .chunks = 3}> table;
  std::vector<Handle> handles;
  for (int i = 0; i < 6; ++i) handles.push_back(put(table, i));
  EXPECT_TRUE(handles.back());
  EXPECT_FALSE(put(table, 6));
  table.give_back(handles[3]);
  EXPECT_EQ(put(table, 6).index, handles[3].index);
  EXPECT_FALSE(put(table, 7));
}

TEST(GenerationTable, GenerationsBeginAgainAtOne) {
  GenerationTable<int, TableShape{.generation_bits = 2}> table;
  std::vector<uint32_t> generations;
  for (int i = 0; i < 5; ++i) {
    const Handle handle = put(table, i);
    generations.push_back(handle.generation);
    table.give_back(handle);
  }
  EXPECT_EQ(generations, (std::vector<uint32_t>{1, 2, 3, 1, 2}));
}

TEST(GenerationTable, AgreesWithABookOfAllHandles) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    GenerationTable<int, TableShape{.resting = 3, .chunk_size = 8, .chunks = 64}> table;
    std::mt19937 random(seed);
    std::map<std::pair<uint32_t, uint32_t>, int> live;
    std::vector<Handle> all;
    for (int step = 0; step < 3000; ++step) {
      if (live.empty() || (random() % 2 == 0 && live.size() < 100)) {
        const Handle handle = put(table, step);
        ASSERT_TRUE(live.emplace(std::pair(handle.index, handle.generation), step).second);
        all.push_back(handle);
      } else {
        const Handle any = all[random() % all.size()];
        table.give_back(any);
        live.erase({any.index, any.generation});
      }
      ASSERT_EQ(table.size(), live.size());
    }
    for (const Handle handle : all) {
      const auto found = live.find({handle.index, handle.generation});
      ASSERT_EQ(table.live(handle) != nullptr, found != live.end());
      if (found != live.end()) {
        EXPECT_EQ(*table.live(handle), found->second);
      }
    }
    size_t visited = 0;
    table.for_each_live([&](Handle handle, int value) {
      ++visited;
      EXPECT_EQ(live.at({handle.index, handle.generation}), value);
    });
    EXPECT_EQ(visited, live.size());
  }
}

TEST(GenerationTable, IsAskedWhileItChanges) {
  GenerationTable<int> table;
  const Handle kept = put(table, 1);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      EXPECT_TRUE(table.is_live(kept));
      EXPECT_FALSE(table.is_live(Handle{kept.index, kept.generation + 1}));
      (void)table.is_live(Handle{kept.index + 1, 1});
    }
  });
  for (int i = 0; i < 5000; ++i) {
    const Handle handle = put(table, i);
    if (i % 3 != 0) table.give_back(handle);
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace plat::core
