// SPDX-License-Identifier: Apache-2.0
// What a thread remembers of memory: that it serves again, that it is forgotten in time, and that nobody
// takes memory down that is in use. Where there is no process barrier, nothing is ever remembered.
#include "vmm/shortcuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#include "os/barrier.h"
#include "rules/rules.h"
#include "support/tiny_device.h"

namespace plat::vmm {
namespace {

using testing::TinyDevice;

class ShortcutsTest : public ::testing::Test {
 protected:
  // A page of the client's, mapped and written.
  void SetUp() override {
    tiny.node.set_open(0, true);
    range = tiny.vmm.reserve(4_MiB, Va{0}, true).value();
    map();
  }
  void map() {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    handle = tiny.vmm.create(2_MiB, prop).value();
    ASSERT_TRUE(tiny.vmm.map(range, 2_MiB, 0, handle, true));
    ASSERT_TRUE(write(range));
  }
  Result<> write(Va va) { return tiny.mover.copy(va, va_of(bytes), sizeof(bytes), 0); }
  bool is_known(Va va, uint64_t size_bytes = 64, uint32_t device = 0) {
    return Shortcuts::Use(tiny.vmm.space(), va, size_bytes, device).memory() != nullptr;
  }

  const bool remembers = os::has_process_barrier();
  TinyDevice tiny;
  Va range;
  PhysicalHandle handle;
  char bytes[64] = "a page that was copied with before";
};

TEST_F(ShortcutsTest, MemoryThatWasCopiedWithIsRemembered) {
  EXPECT_FALSE(is_known(range));  // the first write takes the page, and remembers nothing yet
  ASSERT_TRUE(write(range));
  EXPECT_EQ(is_known(range), remembers);
  EXPECT_EQ(is_known(range + 4096, 2_MiB - 4096), remembers);
  EXPECT_FALSE(is_known(range + 4096, 2_MiB - 4095)) << "past the end of the mapping";
  EXPECT_FALSE(is_known(range + 2_MiB)) << "another page";
  EXPECT_FALSE(is_known(range, 64, 1)) << "another device";
  const Shortcuts::Use use(tiny.vmm.space(), range, sizeof(bytes), 0);
  if (remembers) {
    EXPECT_EQ(std::memcmp(use.memory(), bytes, sizeof(bytes)), 0);
  }
}

TEST_F(ShortcutsTest, ThreadsRememberForThemselves) {
  ASSERT_TRUE(write(range));
  std::thread other([&] {
    EXPECT_FALSE(is_known(range));
    ASSERT_TRUE(write(range));
    EXPECT_EQ(is_known(range), remembers);
  });
  other.join();
  // What the other left behind is not known to the next.
  std::thread heir([&] { EXPECT_FALSE(is_known(range + 2_MiB)); });
  heir.join();
}

TEST_F(ShortcutsTest, UnmappedMemoryIsForgottenEverywhere) {
  ASSERT_TRUE(write(range));
  std::barrier step(2);
  std::thread other([&] {
    ASSERT_TRUE(write(range));
    step.arrive_and_wait();
    step.arrive_and_wait();
    EXPECT_FALSE(is_known(range));
    EXPECT_EQ(write(range).error().rule, RuleId::CopyHole);
  });
  step.arrive_and_wait();
  ASSERT_TRUE(tiny.vmm.unmap(range));
  step.arrive_and_wait();
  EXPECT_FALSE(is_known(range));
  other.join();
  map();
  EXPECT_FALSE(is_known(range)) << "another life";
  ASSERT_TRUE(write(range));
  EXPECT_EQ(is_known(range), remembers);
}

// Whether one other thread remembers it, or this one too.
TEST_F(ShortcutsTest, MemoryInUseIsNotTakenDown) {
  if (!remembers) return;
  for (const bool both : {false, true}) {
    SCOPED_TRACE(both);
    if (both) {
      ASSERT_TRUE(write(range));
    }
    std::barrier step(2);
    std::thread other([&] {
      ASSERT_TRUE(write(range));
      {
        const Shortcuts::Use use(tiny.vmm.space(), range, 64, 0);
        EXPECT_NE(use.memory(), nullptr);
        step.arrive_and_wait();
        step.arrive_and_wait();
      }
      step.arrive_and_wait();
    });
    step.arrive_and_wait();
    const auto refused = tiny.vmm.unmap(range);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().rule, RuleId::UnmapBusy);
    EXPECT_TRUE(tiny.mover.check(range, 64, 0, "dst")) << "and nothing has changed";
    step.arrive_and_wait();
    step.arrive_and_wait();
    EXPECT_TRUE(tiny.vmm.unmap(range));
    other.join();
    map();
  }
}

TEST_F(ShortcutsTest, BlocksAreRememberedUntilTheyAreFreed) {
  for (const uint64_t size : {uint64_t{4096}, uint64_t{1_MiB}, uint64_t{4_MiB}}) {
    SCOPED_TRACE(size);
    const Va block = tiny.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST, malloc::Call::Align32).value();
    const Va keeper = tiny.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST, malloc::Call::Align32).value();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(write(block));
    EXPECT_EQ(is_known(block), remembers);
    const uint64_t in_page = std::min<uint64_t>(size, 2_MiB);
    EXPECT_EQ(is_known(block + (in_page - 64)), remembers);
    EXPECT_FALSE(is_known(block + (in_page - 64), 65)) << "past its end, or that of the page";
    ASSERT_TRUE(tiny.free(block));
    EXPECT_FALSE(is_known(block));
    EXPECT_EQ(write(block).error().rule, RuleId::CopyFreed);
    ASSERT_TRUE(tiny.free(keeper));
  }
}

TEST_F(ShortcutsTest, ManyBlocksPushEachOtherOut) {
  std::vector<Va> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(tiny.malloc(4096).value());
  for (int round = 0; round < 2; ++round)
    for (const Va block : blocks) ASSERT_TRUE(write(block));
  int known = 0;
  for (const Va block : blocks) known += is_known(block) ? 1 : 0;
  EXPECT_EQ(known, remembers ? 8 : 0);
  EXPECT_EQ(is_known(blocks.back()), remembers);
}

TEST(Shortcuts, AnotherMachineAtTheSameAddressesIsNotMistakenForTheFirst) {
  char bytes[64] = {1};
  for (int machine = 0; machine < 3; ++machine) {
    TinyDevice tiny;
    const Va block = tiny.malloc(4096).value();
    EXPECT_EQ(Shortcuts::Use(tiny.vmm.space(), block, 64, 0).memory(), nullptr);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(tiny.mover.copy(block, va_of(bytes), sizeof(bytes), 0));
  }
}

// Copies into a page that is unmapped and given to another, over and over: whoever gets it next finds zeros.
TEST_F(ShortcutsTest, NothingIsWrittenAfterUnmapping) {
  ASSERT_TRUE(tiny.vmm.free(handle));
  ASSERT_TRUE(tiny.vmm.unmap(range));
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (uint64_t i = 1; i <= 2; ++i)
    writers.emplace_back([&, at = range + i * sizeof(bytes)] {
      while (!done) (void)write(at);
    });
  std::vector<char> next(4096);
  for (int round = 0; round < 300; ++round) {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    handle = tiny.vmm.create(2_MiB, prop).value();
    ASSERT_TRUE(tiny.vmm.map(range, 2_MiB, 0, handle, true));
    ASSERT_TRUE(write(range));
    while (!tiny.vmm.unmap(range)) std::this_thread::yield();
    ASSERT_TRUE(tiny.vmm.free(handle));
    const Va block = tiny.malloc(2_MiB, ACL_MEM_MALLOC_HUGE_ONLY, malloc::Call::Align32).value();
    ASSERT_TRUE(tiny.mover.copy(va_of(next.data()), block, next.size(), 0));
    ASSERT_EQ(std::count(next.begin(), next.end(), 0), static_cast<long>(next.size())) << "round " << round;
    ASSERT_TRUE(tiny.free(block));
  }
  done = true;
  for (auto& writer : writers) writer.join();
}

}  // namespace
}  // namespace plat::vmm
