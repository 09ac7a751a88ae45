// SPDX-License-Identifier: Apache-2.0
// The ledger of one device, used by one process: accounting is exact, whatever the order.
#include "device/ledger.h"

#include <gtest/gtest.h>

#include <random>

#include "base/units.h"
#include "rules/rules.h"

namespace plat::device {
namespace {

std::unique_ptr<Ledger> private_ledger(uint64_t capacity_bytes) {
  LedgerOptions options;
  options.capacity_bytes = capacity_bytes;
  options.product = "a2";
  auto ledger = Ledger::attach(options);
  EXPECT_TRUE(ledger) << ledger.error().detail;
  (*ledger)->begin([](PageId, uint32_t) {});
  return std::move(*ledger);
}

TEST(Ledger, StartsEmpty) {
  auto ledger = private_ledger(64_MiB);
  EXPECT_EQ(ledger->usage().free_bytes, 64_MiB);
  EXPECT_EQ(ledger->usage().total_bytes, 64_MiB);
  EXPECT_EQ(ledger->verify(), "");
}

TEST(Ledger, ChargesWholePagesAndGivesThemBack) {
  auto ledger = private_ledger(64_MiB);
  const auto block = ledger->allocate(3, {});
  ASSERT_TRUE(block);
  EXPECT_EQ(ledger->usage().free_bytes, 58_MiB);
  unsigned pages = 0;
  ledger->for_each_page(*block, [&](PageId) { ++pages; });
  EXPECT_EQ(pages, 3u);
  ledger->release(*block);
  EXPECT_EQ(ledger->usage().free_bytes, 64_MiB);
  EXPECT_EQ(ledger->verify(), "");
}

TEST(Ledger, RefusesMoreThanIsFreeAndSaysSo) {
  auto ledger = private_ledger(8_MiB);
  const auto block = ledger->allocate(3, {});
  ASSERT_TRUE(block);
  const auto refused = ledger->allocate(2, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, RuleId::OutOfMemory);
  EXPECT_NE(refused.error().detail.find("4 MiB"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(ledger->usage().free_bytes, 2_MiB);
  EXPECT_TRUE(ledger->allocate(1, {}));
}

TEST(Ledger, SaysWhatWasAskedForNotOnlyWhatItTakes) {
  auto ledger = private_ledger(4_MiB);
  BlockInfo info;
  info.asked_bytes = 5'000'000;
  const auto refused = ledger->allocate(3, info);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("(5000000 bytes), which takes 6 MiB"), std::string::npos)
      << refused.error().detail;
}

TEST(Ledger, SaysWhatWasAskedHoweverMuchItIs) {
  auto ledger = private_ledger(8_MiB);
  const auto refused = ledger->allocate(uint64_t{1} << 42, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, RuleId::OutOfMemory);
  EXPECT_NE(refused.error().detail.find("asked for 8 EiB"), std::string::npos) << refused.error().detail;
}

TEST(Ledger, ScatteredPagesSatisfyALargeRequest) {
  auto ledger = private_ledger(16_MiB);
  std::vector<BlockId> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(*ledger->allocate(1, {}));
  for (int i = 0; i < 8; i += 2) ledger->release(blocks[static_cast<size_t>(i)]);
  EXPECT_TRUE(ledger->allocate(4, {}));
  EXPECT_EQ(ledger->usage().free_bytes, 0u);
  EXPECT_EQ(ledger->verify(), "");
}

TEST(Ledger, WhitelistHoldsManyPids) {
  auto ledger = private_ledger(8_MiB);
  const BlockId block = *ledger->allocate(1, {});
  std::vector<int32_t> pids;
  for (int32_t pid = 1; pid <= 65535; ++pid) pids.push_back(pid);
  {
    const Ledger::Lock lock(*ledger);
    EXPECT_TRUE(ledger->add_to_whitelist_locked(ledger->record(block).whitelist, pids));
    EXPECT_TRUE(ledger->is_whitelisted_locked(ledger->record(block).whitelist, 1));
    EXPECT_TRUE(ledger->is_whitelisted_locked(ledger->record(block).whitelist, 65535));
    EXPECT_FALSE(ledger->is_whitelisted_locked(ledger->record(block).whitelist, 65536));
  }
  ledger->release(block);
  const BlockId next = *ledger->allocate(1, {});
  const Ledger::Lock lock(*ledger);
  EXPECT_FALSE(ledger->is_whitelisted_locked(ledger->record(next).whitelist, 1));
  EXPECT_TRUE(ledger->add_to_whitelist_locked(ledger->record(next).whitelist, pids));
}

// Random allocations and releases against a plain sum.
TEST(Ledger, AccountingIsExactUnderRandomUse) {
  auto ledger = private_ledger(256_MiB);
  std::mt19937_64 random(7);
  std::vector<std::pair<BlockId, uint32_t>> live;
  uint64_t pages_held = 0;
  for (int step = 0; step < 4000; ++step) {
    if (live.empty() || random() % 2 == 0) {
      const auto count = static_cast<uint32_t>(1 + random() % 9);
      const auto block = ledger->allocate(count, {});
      ASSERT_EQ(block.has_value(), pages_held + count <= 128);
      if (!block) continue;
      pages_held += count;
      live.emplace_back(*block, count);
    } else {
      const size_t victim = random() % live.size();
      ledger->release(live[victim].first);
      pages_held -= live[victim].second;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    ASSERT_EQ(ledger->usage().free_bytes, (128 - pages_held) * 2_MiB);
  }
  EXPECT_EQ(ledger->verify(), "");
}

}  // namespace
}  // namespace plat::device
