// SPDX-License-Identifier: Apache-2.0
#include "pool/uses.h"

#include <gtest/gtest.h>

#include "fake_source.h"

namespace plat::test {
namespace {

using pool::Uses;

class UsesTest : public ::testing::Test {
 protected:
  static plat_stream stream(uintptr_t number) { return reinterpret_cast<plat_stream>(number << 4); }
  FakeEvents events;
  Uses uses{events};
  int memory[2] = {};
  void* const block = &memory[0];
};

TEST_F(UsesTest, LeavesABlockAloneThatNobodyElseUses) {
  EXPECT_FALSE(uses.any());
  EXPECT_EQ(uses.take_over(block, stream(1)), Uses::Taken::kNo);
  uses.note(&memory[1], stream(2));
  EXPECT_EQ(uses.take_over(block, stream(1)), Uses::Taken::kNo);
}

TEST_F(UsesTest, KeepsABlockUntilEveryUserHasPassed) {
  events.busy = {stream(2), stream(3)};
  for (uintptr_t number : {1, 2, 2, 3}) uses.note(block, stream(number));
  EXPECT_EQ(uses.take_over(block, stream(1)), Uses::Taken::kYes);
  EXPECT_EQ(uses.take_over(block, stream(1)), Uses::Taken::kTwice);
  EXPECT_TRUE(uses.is_waiting(block));
  EXPECT_EQ(events.live, 2) << "one for each stream but its own";
  events.busy.erase(stream(2));
  EXPECT_TRUE(uses.collect(false).empty());
  events.busy.clear();
  const auto freed = uses.collect(false);
  ASSERT_EQ(freed.size(), 1u);
  EXPECT_EQ(freed[0].address, block);
  EXPECT_EQ(freed[0].stream, stream(1));
  EXPECT_FALSE(uses.any());
  EXPECT_EQ(events.live, 0);
}

TEST_F(UsesTest, WaitsIfWanted) {
  events.busy = {stream(2)};
  uses.note(block, stream(2));
  ASSERT_EQ(uses.take_over(block, nullptr), Uses::Taken::kYes);
  EXPECT_EQ(uses.collect(true).size(), 1u);
}

TEST_F(UsesTest, WaitsForNoStreamThatIsGone) {
  uses.note(block, stream(2));
  events.gone = {stream(2)};
  ASSERT_EQ(uses.take_over(block, stream(1)), Uses::Taken::kYes);
  EXPECT_EQ(uses.collect(false).size(), 1u);
}

TEST_F(UsesTest, ForgetsAStream) {
  events.busy = {stream(1), stream(2)};
  uses.note(block, stream(2));
  uses.forget(stream(2));
  EXPECT_FALSE(uses.any());
  uses.note(block, stream(2));
  ASSERT_EQ(uses.take_over(block, stream(1)), Uses::Taken::kYes);
  uses.forget(stream(1));
  const auto freed = uses.collect(true);
  ASSERT_EQ(freed.size(), 1u);
  EXPECT_EQ(freed[0].stream, nullptr) << "its own has finished";
}

}  // namespace
}  // namespace plat::test
