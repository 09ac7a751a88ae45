// SPDX-License-Identifier: Apache-2.0
// Moving bytes: every direction, every kind of memory, and every way in which a range can be wrong.
#include "copy/mover.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "rules/rules.h"
#include "support/tiny_device.h"

namespace plat::copy {
namespace {

using testing::TinyDevice;

std::vector<uint8_t> noise(size_t size, unsigned seed) {
  std::vector<uint8_t> bytes(size);
  std::mt19937 random(seed);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

RuleId rule_of(const Result<>& result) { return result.error().rule; }

TEST(Mover, WritesReadsAndMoves) {
  TinyDevice tiny;
  for (const size_t size : {size_t{1}, size_t{64}, size_t{4097}, size_t{1_MiB}, size_t{5_MiB + 3}}) {
    SCOPED_TRACE(size);
    const auto bytes = noise(size, 7);
    const Va one = tiny.malloc(size).value();
    const Va two = tiny.malloc(size).value();
    ASSERT_TRUE(tiny.mover.copy(one, va_of(bytes.data()), size, 0));
    ASSERT_TRUE(tiny.mover.copy(two, one, size, 0));
    std::vector<uint8_t> back(size, 0xAA);
    ASSERT_TRUE(tiny.mover.copy(va_of(back.data()), two, size, 0));
    EXPECT_EQ(back, bytes);
    ASSERT_TRUE(tiny.free(one));
    ASSERT_TRUE(tiny.free(two));
  }
}

TEST(Mover, NeverWrittenMemoryReadsAsZerosAndTakesNothing) {
  TinyDevice tiny;
  const Va block = tiny.malloc(4_MiB).value();
  std::vector<uint8_t> back(4_MiB, 0xAA);
  ASSERT_TRUE(tiny.mover.copy(va_of(back.data()), block, back.size(), 0));
  EXPECT_EQ(std::accumulate(back.begin(), back.end(), 0), 0);
  auto& ledger = (*tiny.node.bank(device::BankId(0)))->ledger();
  for (uint32_t page = 0; page < ledger.page_count(); ++page)
    EXPECT_EQ(ledger.page(device::PageId(page)).committed.load(), device::PageState::Nothing);
}

TEST(Mover, LargeCopiesOverScatteredPages) {
  TinyDevice tiny;
  std::vector<Va> pages;
  for (int i = 0; i < 31; ++i)
    pages.push_back(tiny.malloc(2_MiB, ACL_MEM_MALLOC_HUGE_ONLY, malloc::Call::Align32).value());
  for (size_t i = 0; i < pages.size(); i += 2) ASSERT_TRUE(tiny.free(pages[i]));
  const uint64_t size = 32_MiB;
  const Va block = tiny.malloc(size, ACL_MEM_MALLOC_HUGE_ONLY, malloc::Call::Align32).value();
  for (int round = 0; round < 2; ++round) {  // cold, then warm
    const auto bytes = noise(size, 9 + static_cast<unsigned>(round));
    ASSERT_TRUE(tiny.mover.copy(block, va_of(bytes.data()), size, 0));
    std::vector<uint8_t> back(size);
    ASSERT_TRUE(tiny.mover.copy(va_of(back.data()), block, size, 0));
    EXPECT_TRUE(back == bytes);
  }
}

TEST(Mover, RefusesRangesBeyondTheBlock) {
  TinyDevice tiny;
  std::vector<uint8_t> host(4_MiB);
  const Va from = va_of(host.data());
  const Va small = tiny.malloc(64).value();  // 96 bytes with its padding
  const Va next = tiny.malloc(64).value();
  EXPECT_TRUE(tiny.mover.copy(small, from, 96, 0));
  EXPECT_EQ(rule_of(tiny.mover.copy(small, from, 97, 0)), RuleId::CopyPastEnd);
  EXPECT_EQ(rule_of(tiny.mover.copy(small + 90, from, 7, 0)), RuleId::CopyPastEnd);
  EXPECT_EQ(rule_of(tiny.mover.copy(small + 100, from, 1, 0)), RuleId::CopyFreed);
  EXPECT_EQ(rule_of(tiny.mover.copy(small, from, next - small + 1, 0)), RuleId::CopyPastEnd);
  const Va large = tiny.malloc(3_MiB).value();
  EXPECT_EQ(rule_of(tiny.mover.copy(large, from, 3_MiB + 33, 0)), RuleId::CopyPastEnd);
  EXPECT_EQ(rule_of(tiny.mover.copy(from, large + 1, 3_MiB + 32, 0)), RuleId::CopyPastEnd);
  EXPECT_EQ(rule_of(tiny.mover.copy(large, from, UINT64_MAX, 0)), RuleId::CopyHole);
}

// Calls round, and add bytes to what they are asked for, which nobody who reads a message has heard of.
TEST(Mover, SaysWhatWasAskedForOfABlockWhoseEndIsPassed) {
  TinyDevice tiny;
  std::vector<uint8_t> host(4_MiB);
  const auto expect = [&](const Result<>& refused, const std::string& words) {
    ASSERT_EQ(rule_of(refused), RuleId::CopyPastEnd);
    EXPECT_NE(refused.error().detail.find(words), std::string::npos) << refused.error().detail;
  };
  const Va from = va_of(host.data());
  const Va small = tiny.malloc(100, ACL_MEM_MALLOC_NORMAL_ONLY).value();
  expect(tiny.mover.copy(small + 10, from, 200, 0),
         fmt::format("200 bytes at offset 10 of the block of 100 bytes at {:#x} pass its end by 110 bytes",
                     small.value));
  // In what was added: the copy begins past the end already.
  expect(tiny.mover.copy(small + 120, from, 100, 0), "100 bytes at offset 120 of the block of 100 bytes");
  expect(tiny.mover.copy(small + 120, from, 100, 0), "pass its end by 120 bytes");
  const Va large = tiny.malloc(3_MiB - 5, ACL_MEM_MALLOC_HUGE_ONLY).value();
  expect(tiny.mover.copy(large, from, 3_MiB + 100, 0),
         fmt::format("of the block of {} bytes at {:#x} pass its end by 105 bytes", 3_MiB - 5, large.value));
  void* const locked = tiny.hosts.allocate(100).value();
  expect(
      tiny.mover.copy(va_of(locked), large, 5000, 0),
      fmt::format("page-locked block of 100 bytes at {:#x} pass its end by 4900 bytes", va_of(locked).value));
}

TEST(Mover, RefusesFreedMemoryAndSaysWhichBlockItWas) {
  TinyDevice tiny;
  std::vector<uint8_t> host(4096);
  const Va small = tiny.malloc(64).value();
  const Va keep = tiny.malloc(64).value();
  const Va large = tiny.malloc(3_MiB).value();
  ASSERT_TRUE(tiny.free(small));
  ASSERT_TRUE(tiny.free(large));
  for (const Va gone : {small, large, large + 2_MiB}) {
    const auto refused = tiny.mover.copy(va_of(host.data()), gone, 16, 0);
    EXPECT_EQ(rule_of(refused), RuleId::CopyFreed);
    EXPECT_NE(refused.error().detail.find("freed"), std::string::npos) << refused.error().detail;
  }
  EXPECT_TRUE(tiny.free(keep));
}

TEST(Mover, MappedRangesMaySpanMappingsButNotHoles) {
  TinyDevice tiny;
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  tiny.node.set_open(0, true);
  const Va range = tiny.vmm.reserve(8_MiB, Va{0}, true).value();
  const auto handle = tiny.vmm.create(2_MiB, prop).value();
  const auto other = tiny.vmm.create(2_MiB, prop).value();
  const auto bytes = noise(4_MiB, 3);
  EXPECT_EQ(rule_of(tiny.mover.copy(range, va_of(bytes.data()), 4, 0)), RuleId::CopyHole);
  ASSERT_TRUE(tiny.vmm.map(range, 2_MiB, 0, handle, true));
  EXPECT_EQ(rule_of(tiny.mover.copy(range, va_of(bytes.data()), 2_MiB + 1, 0)), RuleId::CopyHole);
  ASSERT_TRUE(tiny.vmm.map(range + 2_MiB, 2_MiB, 0, other, true));
  ASSERT_TRUE(tiny.mover.copy(range + 5, va_of(bytes.data()), 4_MiB - 5, 0));
  std::vector<uint8_t> back(4_MiB - 5);
  ASSERT_TRUE(tiny.mover.copy(va_of(back.data()), range + 5, back.size(), 0));
  EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin()));
  ASSERT_TRUE(tiny.vmm.unmap(range));
  EXPECT_EQ(rule_of(tiny.mover.copy(range, va_of(bytes.data()), 4, 0)), RuleId::CopyHole);
  ASSERT_TRUE(tiny.vmm.map(range, 2_MiB, 0, handle, false));
  EXPECT_EQ(rule_of(tiny.mover.copy(range, va_of(bytes.data()), 4, 0)), RuleId::CopyAccess);
}

TEST(Mover, FillsBytesAndWords) {
  TinyDevice tiny;
  const Va block = tiny.malloc(3_MiB).value();
  ASSERT_TRUE(tiny.mover.fill(block, 3_MiB, 0x5A, 0));
  ASSERT_TRUE(tiny.mover.fill_words(block + (2_MiB - 8), 4, 0x01020304, 0));
  std::vector<uint8_t> back(3_MiB);
  ASSERT_TRUE(tiny.mover.copy(va_of(back.data()), block, back.size(), 0));
  EXPECT_EQ(back[2_MiB - 9], 0x5A);
  EXPECT_EQ(back[2_MiB - 8], 0x04);
  EXPECT_EQ(back[2_MiB + 7], 0x01);
  EXPECT_EQ(back[2_MiB + 8], 0x5A);
}

TEST(Mover, StoresAndLoadsValues) {
  TinyDevice tiny;
  const Va block = tiny.malloc(64).value();
  EXPECT_EQ(tiny.mover.load(block, 0).value(), 0u);
  ASSERT_TRUE(tiny.mover.store(block + 8, 42, 0));
  EXPECT_EQ(tiny.mover.load(block + 8, 0).value(), 42u);
}

TEST(Mover, ClaimedDeviceAddressesThatAreNoMemoryAreRefused) {
  TinyDevice tiny;
  int local = 0;
  const Mover::Claim claim{true, false};
  EXPECT_EQ(rule_of(tiny.mover.copy(Va{0x1000}, va_of(&local), 4, 0, claim)), RuleId::CopyHostAddress);
  int other = 5;
  EXPECT_TRUE(tiny.mover.copy(va_of(&local), va_of(&other), 4, 0, claim));
  EXPECT_EQ(local, 5);
}

}  // namespace
}  // namespace plat::copy
