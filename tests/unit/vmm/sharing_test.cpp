// SPDX-License-Identifier: Apache-2.0
// Handles that go to other processes and come from them: what a refusal leaves behind, and what is counted.
#include <gtest/gtest.h>

#include "rules/rules.h"
#include "support/tiny_device.h"

namespace plat::vmm {
namespace {

constexpr uint64_t kNumber = 0x5EC2E7;

struct Sharing : ::testing::Test {
  PhysicalHandle create() {
    tiny.node.set_open(0, true);
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    return tiny.vmm.create(2 * core::kPageBytes, prop).value_or(PhysicalHandle{});
  }
  Result<Vmm::Export> export_it(PhysicalHandle handle) {
    return tiny.vmm.export_block(handle, [&](device::Bank&, device::BlockId id) {
      block = id;
      ++entered;
      return kNumber;
    });
  }
  Vmm::Import wanted() {
    return {.bank = *tiny.node.bank(device::BankId(0)),
            .block = block,
            .number = kNumber,
            .reach = 1,
            .check = [] { return Result<>{}; },
            .again = [](PhysicalHandle) { return Result<>{}; }};
  }

  plat::testing::TinyDevice tiny;
  PhysicalHandle own = create();
  device::BlockId block;
  int entered = 0;
};

TEST_F(Sharing, AHandleIsExportedOnce) {
  const auto made = export_it(own);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->number, kNumber);
  EXPECT_EQ(made->size_bytes, 2 * core::kPageBytes);
  const auto again = export_it(own);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().rule, RuleId::ShareTwice);
  EXPECT_EQ(entered, 1);
}

TEST_F(Sharing, AnImportKeepsTheMemoryWhenTheOwnHandleGoes) {
  ASSERT_TRUE(export_it(own));
  const uint64_t free_bytes = tiny.free_bytes();
  const auto imported = tiny.vmm.import_block(wanted());
  ASSERT_TRUE(imported);
  EXPECT_TRUE(tiny.vmm.free(own));
  EXPECT_EQ(tiny.free_bytes(), free_bytes);
  EXPECT_TRUE(tiny.vmm.free(*imported));
  EXPECT_EQ(tiny.free_bytes(), free_bytes + 2 * core::kPageBytes);
}

TEST_F(Sharing, AnImportThatIsRefusedHoldsNothing) {
  ASSERT_TRUE(export_it(own));
  auto refused = wanted();
  refused.check = []() -> Result<> { return fail(RuleId::ShareDenied, "", ""); };
  const auto imported = tiny.vmm.import_block(refused);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().rule, RuleId::ShareDenied);
  const uint64_t free_bytes = tiny.free_bytes();
  EXPECT_TRUE(tiny.vmm.free(own));
  EXPECT_EQ(tiny.free_bytes(), free_bytes + 2 * core::kPageBytes);
}

TEST_F(Sharing, ASecondImportIsTheSameHandleAndCounted) {
  ASSERT_TRUE(export_it(own));
  const auto first = tiny.vmm.import_block(wanted());
  ASSERT_TRUE(first);
  uint64_t known = 0;
  auto second = wanted();
  second.again = [&](PhysicalHandle handle) {
    known = handle.value;
    return Result<>{};
  };
  const auto same = tiny.vmm.import_block(second);
  ASSERT_TRUE(same);
  EXPECT_EQ(known, first->value);
  EXPECT_EQ(same->value, first->value);
  EXPECT_TRUE(tiny.vmm.free(*first));
  EXPECT_TRUE(tiny.vmm.free(*first));
  EXPECT_EQ(tiny.vmm.free(*first).error().rule, RuleId::HandleStale);
}

TEST_F(Sharing, WhatWasImportedIsNotExportedAgain) {
  ASSERT_TRUE(export_it(own));
  const auto imported = tiny.vmm.import_block(wanted());
  ASSERT_TRUE(imported);
  EXPECT_EQ(export_it(*imported).error().rule, RuleId::ShareImported);
  EXPECT_EQ(entered, 1);
}

}  // namespace
}  // namespace plat::vmm
