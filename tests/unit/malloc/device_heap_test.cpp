// SPDX-License-Identifier: Apache-2.0
// Device memory: sizes, pages, accounting and the mistakes that free can meet.
#include "malloc/device_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "rules/rules.h"
#include "support/tiny_device.h"

namespace plat::malloc {
namespace {

using testing::TinyDevice;

TEST(DeviceHeap, SmallBlocksAreChargedInNormalPages) {
  TinyDevice tiny;
  const uint64_t before = tiny.free_bytes();
  const Va block = tiny.malloc(100).value();
  EXPECT_EQ(before - tiny.free_bytes(), 4_KiB);
  EXPECT_EQ(tiny.heap.find(block)->block_bytes, 160u);
  EXPECT_EQ(block.value % 512, 0u);
  EXPECT_TRUE(tiny.free(block));
  EXPECT_EQ(tiny.free_bytes(), before);
}

TEST(DeviceHeap, HugePagesBeginAboveOneMebibyteAfterRounding) {
  TinyDevice tiny;
  const uint64_t before = tiny.free_bytes();
  const Va below = tiny.malloc(1_MiB - 32).value();
  EXPECT_EQ(before - tiny.free_bytes(), 1_MiB);
  const Va above = tiny.malloc(1_MiB - 31).value();
  EXPECT_EQ(before - tiny.free_bytes(), 3_MiB);
  EXPECT_EQ(above.value % 2_MiB, 0u);
  EXPECT_TRUE(tiny.free(below));
  EXPECT_TRUE(tiny.free(above));
  EXPECT_EQ(tiny.free_bytes(), before);
}

TEST(DeviceHeap, LargeNormalBlocksShareTheirLastPage) {
  TinyDevice tiny;
  const uint64_t before = tiny.free_bytes();
  const Va large = tiny.malloc(3_MiB, ACL_MEM_MALLOC_NORMAL_ONLY).value();
  EXPECT_EQ(before - tiny.free_bytes(), 3_MiB + 4_KiB);
  const Va small = tiny.malloc(64).value();
  EXPECT_EQ(before - tiny.free_bytes(), 3_MiB + 8_KiB);
  EXPECT_EQ(before - tiny.free_huge_bytes(), 4_MiB);
  EXPECT_TRUE(tiny.free(large));
  EXPECT_TRUE(tiny.free(small));
  EXPECT_EQ(tiny.free_bytes(), before);
}

TEST(DeviceHeap, HugeFirstFallsBackToNormalPages) {
  TinyDevice tiny;
  const Va holder = tiny.malloc(64).value();  // holds 2 MiB open
  std::vector<Va> blocks;
  while (auto block = tiny.malloc(2_MiB, ACL_MEM_MALLOC_HUGE_ONLY, Call::Align32)) blocks.push_back(*block);
  ASSERT_EQ(tiny.free_huge_bytes(), 0u);
  EXPECT_FALSE(tiny.malloc(3_MiB / 2, ACL_MEM_MALLOC_HUGE_ONLY));
  const auto fallback = tiny.malloc(3_MiB / 2);
  ASSERT_TRUE(fallback);
  EXPECT_EQ(tiny.heap.find(*fallback)->pages, Pages::Normal);
  EXPECT_TRUE(tiny.free(*fallback));
  EXPECT_TRUE(tiny.free(holder));
  for (const Va block : blocks) EXPECT_TRUE(tiny.free(block));
  EXPECT_EQ(tiny.free_bytes(), 64_MiB);
}

TEST(DeviceHeap, EverythingFreeCanBeAllocatedAtOnce) {
  TinyDevice tiny;
  EXPECT_TRUE(tiny.free(tiny.malloc(64).value()));  // leaves an idle page behind
  EXPECT_TRUE(tiny.malloc(64_MiB, ACL_MEM_MALLOC_HUGE_ONLY, Call::Align32));
}

TEST(DeviceHeap, FreeRefusesWhatIsNoStart) {
  TinyDevice tiny;
  const auto rule = [&](Va va) { return tiny.free(va).error().rule; };
  const Va small = tiny.malloc(8192).value();
  const Va large = tiny.malloc(4_MiB).value();
  EXPECT_EQ(rule(small + 64), RuleId::FreeUnknown);
  EXPECT_EQ(rule(small + 4096), RuleId::FreeUnknown);
  EXPECT_EQ(rule(large + 2_MiB), RuleId::FreeUnknown);
  int local = 0;
  EXPECT_EQ(rule(va_of(&local)), RuleId::FreeUnknown);
  EXPECT_EQ(rule(Va{0x1234}), RuleId::FreeUnknown);
  EXPECT_EQ(rule(Va{UINT64_MAX}), RuleId::FreeUnknown);
  EXPECT_TRUE(tiny.free(small));
  EXPECT_TRUE(tiny.free(large));
  EXPECT_EQ(rule(small), RuleId::FreeTwice);
  EXPECT_EQ(rule(large), RuleId::FreeTwice);
  const Va reserved = tiny.vmm.reserve(4_MiB, Va{0}, false).value();
  EXPECT_EQ(rule(reserved), RuleId::FreeOtherKind);
}

TEST(DeviceHeap, MediaMemoryIsNotMixed) {
  TinyDevice tiny;
  const Va media = tiny.malloc(100, 0, Call::Media).value();
  EXPECT_EQ(media.value % 128, 0u);
  EXPECT_EQ(tiny.heap.find(media)->block_bytes, 160u);
  EXPECT_EQ(tiny.free(media).error().rule, RuleId::FreeMixed);
  EXPECT_TRUE(tiny.heap.free(media, Family::Media, "acldvppFree"));
  const Va plain = tiny.malloc(100).value();
  EXPECT_EQ(tiny.heap.free(plain, Family::Media, "acldvppFree").error().rule, RuleId::FreeMixed);
  EXPECT_TRUE(tiny.free(plain));
}

TEST(DeviceHeap, CountsUsageByModule) {
  TinyDevice tiny;
  const Va block = tiny.malloc(5000).value();
  auto entries = tiny.heap.usage(device::BankId(0)).entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, "APP");
  EXPECT_EQ(entries[0].current_bytes, 8_KiB);
  EXPECT_TRUE(tiny.free(block));
  entries = tiny.heap.usage(device::BankId(0)).entries();
  EXPECT_EQ(entries[0].current_bytes, 0u);
  EXPECT_EQ(entries[0].peak_bytes, 8_KiB);
}

// Random sizes and policies against a model that only knows which bytes are taken.
TEST(DeviceHeap, AgreesWithANaiveModel) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    TinyDevice tiny;
    std::mt19937 random(seed);
    std::map<uint64_t, DeviceHeap::Found> live;
    uint64_t charged = 0;
    for (int step = 0; step < 20000; ++step) {
      if (live.empty() || random() % 5 < 3) {
        const uint64_t size = 1 + (random() % 3 == 0 ? random() % 3_MiB : random() % 20000);
        const uint32_t policy = random() % 3;
        const auto block = tiny.malloc(size, policy);
        if (!block) {
          ASSERT_EQ(block.error().rule, RuleId::OutOfMemory);
        } else {
          const auto found = tiny.heap.find(*block);
          ASSERT_TRUE(found);
          ASSERT_EQ(found->start, *block);
          ASSERT_EQ(found->block_bytes, (size + 63) / 32 * 32);
          const auto after = live.lower_bound(block->value);
          if (after != live.end()) {
            ASSERT_LE(block->value + found->charged_bytes, after->first);
          }
          if (after != live.begin()) {
            const auto before = std::prev(after);
            ASSERT_LE(before->first + before->second.charged_bytes, block->value);
          }
          ASSERT_EQ(tiny.heap.find(*block + (found->block_bytes - 1))->start, *block);
          charged += found->charged_bytes;
          live.emplace(block->value, *found);
        }
      }
      if (!live.empty() && random() % 2 == 0) {
        auto victim = live.lower_bound(live.begin()->first + random() % (1 << 26));
        if (victim == live.end()) victim = live.begin();
        ASSERT_TRUE(tiny.free(Va{victim->first}));
        charged -= victim->second.charged_bytes;
        ASSERT_FALSE(tiny.heap.find(Va{victim->first}));
        live.erase(victim);
      }
      if (step % 64 == 0) {
        ASSERT_EQ(tiny.free_bytes(), 64_MiB - charged);
      }
    }
    for (const auto& [start, block] : live) ASSERT_TRUE(tiny.free(Va{start}));
    ASSERT_EQ(tiny.free_bytes(), 64_MiB);
  }
}

}  // namespace
}  // namespace plat::malloc
