// SPDX-License-Identifier: Apache-2.0
// The range around an address: that of the block, to the end of its last page.
#include "malloc/locate.h"

#include <gtest/gtest.h>

#include "rules/rules.h"
#include "support/tiny_device.h"

namespace plat::malloc {
namespace {

using plat::testing::TinyDevice;

TEST(Locator, TheRestOfTheLastPageBelongsToTheBlock) {
  TinyDevice tiny;
  const Va small = tiny.malloc(5000, ACL_MEM_MALLOC_NORMAL_ONLY).value();
  const Va next = tiny.malloc(100, ACL_MEM_MALLOC_NORMAL_ONLY).value();
  const Va large = tiny.malloc(3_MiB, ACL_MEM_MALLOC_HUGE_ONLY).value();
  ASSERT_EQ(next, small + 8192);
  const auto expect = [&](Va at, Va start, uint64_t size_bytes, uint64_t page_bytes) {
    const auto range = tiny.locator.range_around(at);
    ASSERT_TRUE(range) << range.error().detail;
    EXPECT_EQ(range->start, start);
    EXPECT_EQ(range->size_bytes, size_bytes);
    EXPECT_EQ(tiny.locator.page_bytes(at), page_bytes);
  };
  for (const uint64_t offset : {0, 4999, 5000, 6000, 8191}) {
    SCOPED_TRACE(offset);
    expect(small + offset, small, 8192, 4096);
  }
  for (const uint64_t offset : {0, 100, 4095}) expect(next + offset, next, 4096, 4096);
  for (const uint64_t offset : {uint64_t{0}, 3_MiB, 4_MiB - 1}) expect(large + offset, large, 4_MiB, 2_MiB);
}

TEST(Locator, FreedBlocksAreToldAsSuch) {
  TinyDevice tiny;
  const Va keeper = tiny.malloc(100, ACL_MEM_MALLOC_NORMAL_ONLY).value();
  const Va block = tiny.malloc(5000, ACL_MEM_MALLOC_NORMAL_ONLY).value();
  ASSERT_TRUE(tiny.free(block));
  const auto range = tiny.locator.range_around(block + 6000);
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().rule, RuleId::AddressRangeUnknown);
  EXPECT_EQ(range.error().detail.find("being unmapped"), std::string::npos) << range.error().detail;
  EXPECT_NE(range.error().detail.find("in no block"), std::string::npos) << range.error().detail;
  const auto start = tiny.locator.range_around(block);
  ASSERT_FALSE(start);
  EXPECT_NE(start.error().detail.find("aclrtFree freed"), std::string::npos) << start.error().detail;
  ASSERT_TRUE(tiny.free(keeper));
}

}  // namespace
}  // namespace plat::malloc
