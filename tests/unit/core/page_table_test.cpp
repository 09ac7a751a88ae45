// SPDX-License-Identifier: Apache-2.0
#include "core/page_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plat::core {
namespace {

TEST(PageTable, IsEmptyEverywhereAtFirst) {
  auto table = std::make_unique<PageTable>();
  for (const uint64_t address : {uint64_t{0}, uint64_t{1}, 16_TiB, (uint64_t{1} << kAddressBits) - 1})
    EXPECT_EQ(table->load(Va{address}), 0u);
}

TEST(PageTable, AddressesBeyondItHoldNothing) {
  auto table = std::make_unique<PageTable>();
  EXPECT_EQ(table->load(Va{uint64_t{1} << kAddressBits}), 0u);
  EXPECT_EQ(table->load(Va{UINT64_MAX}), 0u);
  EXPECT_FALSE(table->prepare(Va{(uint64_t{1} << kAddressBits) - kPageBytes}, 2 * kPageBytes));
  EXPECT_TRUE(table->prepare(Va{(uint64_t{1} << kAddressBits) - kPageBytes}, kPageBytes));
}

TEST(PageTable, OneEntryForAllAddressesOfAPage) {
  auto table = std::make_unique<PageTable>();
  const Va page{16_TiB + 6_MiB};
  ASSERT_TRUE(table->prepare(page, kPageBytes));
  table->store(page, 42);
  EXPECT_EQ(table->load(page), 42u);
  EXPECT_EQ(table->load(page + (kPageBytes - 1)), 42u);
  EXPECT_EQ(table->load(page + kPageBytes), 0u);
  EXPECT_EQ(table->load(Va{page.value - 1}), 0u);
}

TEST(PageTable, PreparesAcrossLeaves) {
  auto table = std::make_unique<PageTable>();
  const Va start{16_TiB + 32_GiB - kPageBytes};  // the last page of one leaf
  ASSERT_TRUE(table->prepare(start, 64_GiB));
  for (uint64_t at = 0; at < 64_GiB; at += 8_GiB) {
    table->store(start + at, at + 1);
    EXPECT_EQ(table->load(start + at), at + 1);
  }
}

TEST(PageTable, AgreesWithAMap) {
  auto table = std::make_unique<PageTable>();
  std::map<uint64_t, uint64_t> naive;
  std::mt19937_64 random(5);
  for (int step = 0; step < 20000; ++step) {
    const uint64_t page = (random() % 4 * 5_TiB) + random() % 20000 * kPageBytes;
    if (random() % 2 == 0) {
      ASSERT_TRUE(table->prepare(Va{page}, kPageBytes));
      table->store(Va{page}, naive[page] = random() % 3);
    }
    const auto wanted = naive.find(page);
    ASSERT_EQ(table->load(Va{page + random() % kPageBytes}), wanted == naive.end() ? 0 : wanted->second);
  }
}

}  // namespace
}  // namespace plat::core
