// SPDX-License-Identifier: Apache-2.0
// Memory of a whole block is taken from the system at once, wherever its pages lie.
#include "device/bank.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "base/units.h"
#include "rules/rules.h"

namespace plat::device {
namespace {

class BankTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Bank> open(uint64_t keep_back_bytes = 0) {
    LedgerOptions options;
    options.capacity_bytes = 256_MiB;
    options.product = "a2";
    Config config;
    config.keep_back_bytes = keep_back_bytes;
    return std::move(*Bank::open(options, config));
  }
  static uint64_t taken_bytes(Bank& bank) {
    struct stat info {};
    EXPECT_EQ(fstat(bank.ledger().data_fd(), &info), 0);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  }
  static uint64_t committed_pages(Bank& bank, BlockId block) {
    uint64_t count = 0;
    bank.ledger().for_each_page(block, [&](PageId page) { count += bank.is_committed(page) ? 1 : 0; });
    return count;
  }
};

// A block of pages that lie apart, some of them written already, between blocks of others.
TEST_F(BankTest, CommitsEveryPageOfABlockAndNoOther) {
  const auto bank = open();
  std::vector<BlockId> small;
  for (int i = 0; i < 20; ++i) small.push_back(*bank->allocate(2, {}));
  for (size_t i = 0; i < small.size(); i += 2) bank->release(small[i]);
  const BlockId block = *bank->allocate(100, {});  // ten holes of two pages, and what is behind them
  std::vector<uint64_t> pages;
  bank->ledger().for_each_page(block, [&](PageId page) { pages.push_back(page.value); });
  ASSERT_EQ(pages.size(), 100u);
  for (const size_t written : {size_t{0}, size_t{7}, size_t{50}, size_t{99}})
    ASSERT_TRUE(bank->commit(PageId(static_cast<uint32_t>(pages[written]))));
  EXPECT_EQ(committed_pages(*bank, block), 4u);
  ASSERT_TRUE(bank->commit(block));
  EXPECT_EQ(committed_pages(*bank, block), 100u);
  EXPECT_EQ(taken_bytes(*bank), 200_MiB);
  for (size_t i = 1; i < small.size(); i += 2) EXPECT_EQ(committed_pages(*bank, small[i]), 0u) << i;
  ASSERT_TRUE(bank->commit(block));  // again: nothing is left to do
  EXPECT_EQ(taken_bytes(*bank), 200_MiB);
}

TEST_F(BankTest, RefusesABlockThatTheMachineHasNoMemoryFor) {
  const auto bank = open(uint64_t{1} << 60);
  const BlockId block = *bank->allocate(40, {});
  const auto refused = bank->commit(block);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, RuleId::OutOfHostMemory);
  EXPECT_EQ(committed_pages(*bank, block), 0u);
  EXPECT_EQ(taken_bytes(*bank), 0u);
}

}  // namespace
}  // namespace plat::device
