// SPDX-License-Identifier: Apache-2.0
// Keys of blocks that are freed: nobody imports through them any more, and no other key suffers.
#include "share/ipc.h"

#include <gtest/gtest.h>

#include <array>

#include "rules/rules.h"
#include "support/tiny_device.h"

namespace plat::share {
namespace {

struct IpcKeys : ::testing::Test {
  // Whether processes can still do anything with the key.
  bool is_live(const std::string& key) {
    const std::array<int32_t, 1> pids = {1};
    const auto allowed = ipc.allow(key, pids);
    if (!allowed) {
      EXPECT_EQ(allowed.error().rule, RuleId::IpcUnknown);
    }
    return allowed.has_value();
  }
  std::string key_of(Va block) {
    auto key = ipc.export_range(block, 64, 0, 4096);
    EXPECT_TRUE(key);
    return key.value_or("");
  }

  plat::testing::TinyDevice tiny;
  Ipc ipc{tiny.vmm};
};

TEST_F(IpcKeys, AreNoOtherText) {
  const std::string key = key_of(*tiny.malloc(100));
  ASSERT_TRUE(is_live(key));
  for (size_t at = 0; at < key.size(); ++at)
    for (const int bit : {0x01, 0x20, 0x80}) {  // another number, capitals, no letter at all
      std::string other = key;
      other[at] = static_cast<char>(other[at] ^ bit);
      EXPECT_FALSE(is_live(other)) << other;
    }
}

TEST_F(IpcKeys, AreClosedWhileTheBlockIsFreedAndEndWithIt) {
  const Va block = *tiny.malloc(100);
  const Va neighbour = *tiny.malloc(100);
  const std::string key = key_of(block);
  const std::string second = key_of(block);
  const std::string other = key_of(neighbour);
  EXPECT_TRUE(ipc.free_block(block, [&](Importers) -> Result<> {
    EXPECT_FALSE(is_live(key));
    EXPECT_FALSE(is_live(second));
    EXPECT_TRUE(is_live(other));
    return tiny.free(block);
  }));
  EXPECT_FALSE(is_live(key));
  EXPECT_FALSE(is_live(second));
  EXPECT_TRUE(is_live(other));
  EXPECT_EQ(ipc.close(key).error().rule, RuleId::IpcUnknown);
}

TEST_F(IpcKeys, OpenAgainWhenTheBlockIsNotFreed) {
  const Va block = *tiny.malloc(4_MiB);
  const std::string key = key_of(block);
  EXPECT_FALSE(ipc.free_block(
      block, [](Importers) -> Result<> { return fail(RuleId::FreeBusy, "devPtr", "in use"); }));
  EXPECT_TRUE(is_live(key));
  EXPECT_TRUE(ipc.close(key));
}

TEST_F(IpcKeys, OfTheNextBlockAtTheSameAddressStay) {
  const Va block = *tiny.malloc(100);
  const std::string old_key = key_of(block);
  EXPECT_TRUE(ipc.free_block(block, [&](Importers) { return tiny.free(block); }));
  const Va next = *tiny.malloc(100);
  ASSERT_EQ(next, block);
  const std::string key = key_of(next);
  EXPECT_TRUE(is_live(key));
  EXPECT_FALSE(is_live(old_key));
}

}  // namespace
}  // namespace plat::share
