// SPDX-License-Identifier: Apache-2.0
#include "stream/item_list.h"

#include <gtest/gtest.h>

#include <memory>

namespace plat::stream {

using Tokens = ItemList<std::shared_ptr<int>>;

TEST(ItemList, KeepsTheOrderAcrossBlocks) {
  ItemList<int> list;
  for (int i = 0; i < 200; ++i) list.push(i);
  for (int i = 0; i < 200; ++i) {
    ASSERT_FALSE(list.empty());
    EXPECT_EQ(list.front(), i);
    list.pop();
  }
  EXPECT_TRUE(list.empty());
}

TEST(ItemList, IsTakenOverWholeAndUsedAgain) {
  ItemList<int> given, batch;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 40; ++i) given.push(i);
    batch.take(given);
    EXPECT_TRUE(given.empty());
    given.push(99);
    for (int i = 0; i < 40; ++i, batch.pop()) EXPECT_EQ(batch.front(), i);
    batch.take(given);
    EXPECT_EQ(batch.front(), 99);
    batch.pop();
  }
}

TEST(ItemList, ReleasesWhatItHeld) {
  const auto token = std::make_shared<int>(1);
  {
    Tokens list;
    for (int i = 0; i < 70; ++i) list.push(std::shared_ptr<int>(token));
    EXPECT_EQ(token.use_count(), 71);
    list.pop();
    EXPECT_EQ(token.use_count(), 70);
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace plat::stream
