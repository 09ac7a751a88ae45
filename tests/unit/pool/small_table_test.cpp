// SPDX-License-Identifier: Apache-2.0
#include "pool/small_table.h"

#include <gtest/gtest.h>

namespace plat::pool {
namespace {

TEST(SmallTable, FindsLiveBlocksAtTheirStartsAlone) {
  SmallTable table(4 * kPageBytes);
  const uint64_t base = kPageBytes;
  for (uint32_t index = 0; index < kClasses; ++index) {
    table.add(base, index, 1000 + index);
    const uint32_t bytes = class_bytes(index);
    for (uint32_t at = 0; at + bytes <= span_bytes(index); at += bytes)
      if (at / bytes % 3 != 0) SmallTable::open(*table.flag_at(base + at, index));
    for (uint32_t at = 0; at < span_bytes(index); ++at) {
      const auto entry = table.entry(base + at);
      ASSERT_TRUE(entry);
      ASSERT_EQ(entry.span(), 1000 + index);
      ASSERT_EQ(entry.index(), index);
      const bool live = at % bytes == 0 && at + bytes <= span_bytes(index) && at / bytes % 3 != 0;
      ASSERT_EQ(table.find(base + at, index) != nullptr, live) << index << " at " << at;
    }
    EXPECT_FALSE(table.entry(base - 1));
    EXPECT_FALSE(table.entry(base + span_bytes(index)));
    table.remove(base, index);
    EXPECT_FALSE(table.entry(base));
  }
}

TEST(SmallTable, ForgetsTheMarksOfASpanThatWent) {
  SmallTable table(kPageBytes);
  for (const uint32_t index : {0u, 19u, 20u, kClasses - 1}) {
    table.add(0, index, 0);
    SmallTable::open(*table.flag_at(0, index));
    ASSERT_NE(table.find(0, index), nullptr);
    table.remove(0, index);
    table.add(0, index, 0);
    EXPECT_EQ(table.find(0, index), nullptr) << index;
    table.remove(0, index);
  }
}

}  // namespace
}  // namespace plat::pool
