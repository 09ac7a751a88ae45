// SPDX-License-Identifier: Apache-2.0
// Call stacks for messages.
#include "os/stack.h"

#include <gtest/gtest.h>

namespace plat::os {
namespace {

[[gnu::noinline]] Stack here(size_t depth, size_t skip) {
  Stack stack = walk_stack(depth, skip);
  asm volatile("");  // not the last thing it does, so that it stays on the stack
  return stack;
}

TEST(Stack, LeavesOutWhatItIsToldAndNoMore) {
  const Stack whole = here(64, 0);
  const Stack rest = here(64, 2);
  ASSERT_GT(whole.size(), 4u);
  ASSERT_EQ(rest.size(), whole.size() - 2);
  // The two calls come from different lines of this function, and from the same place further out; a
  // sanitizer may have a frame of its own at the inner end.
  EXPECT_TRUE(std::equal(rest.begin() + 2, rest.end(), whole.begin() + 4));
}

TEST(Stack, HasNoMoreThanItsDepth) {
  EXPECT_EQ(here(2, 0).size(), 2u);
  EXPECT_EQ(here(2, 5).size(), 0u);
}

}  // namespace
}  // namespace plat::os
