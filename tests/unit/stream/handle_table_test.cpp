// SPDX-License-Identifier: Apache-2.0
#include "stream/handle_table.h"

#include <gtest/gtest.h>

namespace plat::stream {
namespace {

struct Thing {
  uint64_t id;
};
uint64_t add(HandleTable<Thing>& table) {
  return table.add([](uint64_t id) { return std::make_shared<Thing>(Thing{id}); })->id;
}

}  // namespace

TEST(HandleTable, FindsWhatWasAdded) {
  HandleTable<Thing> table(0x41);
  const uint64_t id = add(table);
  ASSERT_TRUE(table.find(id));
  EXPECT_EQ(table.find(id)->id, id);
}

TEST(HandleTable, DoesNotFindStaleForeignOrInventedIds) {
  HandleTable<Thing> table(0x41);
  HandleTable<Thing> other(0x42);
  const uint64_t stale = add(table);
  EXPECT_TRUE(table.remove(stale));
  EXPECT_FALSE(table.remove(stale));
  const uint64_t reused = add(table);
  EXPECT_NE(stale, reused);
  EXPECT_FALSE(table.find(stale));
  EXPECT_FALSE(table.find(add(other)));
  int variable = 0;
  for (const uint64_t id :
       {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, reinterpret_cast<uint64_t>(&variable), reused + 1})
    EXPECT_FALSE(table.find(id)) << id;
}

TEST(HandleTable, GrowsBeyondOneChunk) {
  HandleTable<Thing> table(0x41);
  std::vector<uint64_t> ids;
  for (size_t count = 0; count < 3 * HandleTable<Thing>::kChunkSlots; ++count) ids.push_back(add(table));
  for (const uint64_t id : ids) EXPECT_EQ(table.find(id)->id, id);
  EXPECT_EQ(table.all().size(), ids.size());
}

}  // namespace plat::stream
