// SPDX-License-Identifier: Apache-2.0
// Host memory that the device knows, and that it forgets in time.
#include "malloc/host_heap.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <semaphore>
#include <thread>
#include <vector>

#include "rules/rules.h"

namespace plat::malloc {
namespace {

// The kernel looks, and says no where a look of ours would fault.
bool can_be_read(const void* at) {
  int ends[2] = {};
  if (pipe(ends) != 0) return false;
  const bool done = write(ends[1], at, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return done;
}

TEST(HostHeap, FindsWhatLiesInsideABlock) {
  HostHeap heap;
  auto* const block = static_cast<char*>(heap.allocate(100).value());
  EXPECT_EQ(heap.find(va_of(block))->start, va_of(block));
  EXPECT_EQ(heap.find(va_of(block + 99))->start, va_of(block));
  EXPECT_TRUE(heap.find(va_of(block + 127)));  // rounded up to 32
  EXPECT_FALSE(heap.find(va_of(block + 128)));
  EXPECT_TRUE(heap.free(block, "aclrtFreeHost"));
}

// Each thread remembers what it found last.
TEST(HostHeap, WhatAnotherThreadFreesIsNotFoundAnyMore) {
  HostHeap heap;
  void* const block = heap.allocate(4096).value();
  ASSERT_TRUE(heap.find(va_of(block)));
  std::thread([&] { EXPECT_TRUE(heap.free(block, "aclrtFreeHost")); }).join();
  EXPECT_FALSE(heap.find(va_of(block)));
}

TEST(HostHeap, WhatWasUnregisteredIsNotFoundAnyMore) {
  HostHeap heap;
  alignas(4096) static char page[4096];
  ASSERT_TRUE(heap.add(page, sizeof(page), true));
  ASSERT_TRUE(heap.find(va_of(page + 8)));
  ASSERT_TRUE(heap.remove(page));
  EXPECT_FALSE(heap.find(va_of(page + 8)));
}

TEST(HostHeap, HeapsDoNotShareWhatAThreadRemembers) {
  HostHeap one;
  void* const block = one.allocate(64).value();
  ASSERT_TRUE(one.find(va_of(block)));
  HostHeap two;
  EXPECT_FALSE(two.find(va_of(block)));
  EXPECT_TRUE(one.free(block, "aclrtFreeHost"));
}

// A program that frees memory without unregistering it may get the same addresses again, from us.
TEST(HostHeap, ABlockReplacesAForgottenRegistration) {
  HostHeap heap;
  char* const everything = reinterpret_cast<char*>(uintptr_t{4096});
  ASSERT_TRUE(heap.add(everything, (uint64_t{1} << 48) - 8192, true));  // aarch64 has that many
  void* const block = heap.allocate(64).value();
  EXPECT_TRUE(heap.find(va_of(block))->what.allocated);
  EXPECT_FALSE(heap.find(va_of(everything)));
  EXPECT_EQ(heap.remove(everything).error().rule, RuleId::HostUnregisterUnknown);
  EXPECT_TRUE(heap.free(block, "aclrtFreeHost"));
}

// How many mappings the kernel keeps for this process.
size_t mapping_count() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

TEST(HostHeap, ManyBlocksTakeFewMappings) {
  HostHeap heap;
  const size_t before = mapping_count();
  std::vector<void*> blocks(200000);
  for (void*& block : blocks) {
    block = heap.allocate(4096).value();
    if (va_of(block).value / 4096 % 64 == 0) *static_cast<char*>(block) = 1;
  }
  EXPECT_LT(mapping_count(), before + 100);
  // Every second one goes, and leaves a hole.
  for (size_t i = 0; i < blocks.size(); i += 2) ASSERT_TRUE(heap.free(blocks[i], "aclrtFreeHost"));
  EXPECT_LT(mapping_count(), before + 1000);
  for (size_t i = 1; i < blocks.size(); i += 2) ASSERT_TRUE(heap.free(blocks[i], "aclrtFreeHost"));
  EXPECT_LT(mapping_count(), before + 1000);
}

TEST(HostArena, TakesNoMoreAddressesThanItIsGiven) {
  setenv("PLAT_LOCKED_ADDRESSES", "64MiB", 1);
  HostArena arena;
  EXPECT_FALSE(arena.allocate(64_MiB).has_value());  // the first and the last page are nobody's
  const auto block = arena.allocate(32_MiB);
  unsetenv("PLAT_LOCKED_ADDRESSES");
  ASSERT_TRUE(block.has_value());
  EXPECT_TRUE(arena.contains(Va{*block}));
  EXPECT_FALSE(arena.contains(Va{*block + 64_MiB}));
}

TEST(HostHeap, BlocksAreZeroAndGoneAfterwards) {
  HostHeap heap;
  for (const uint64_t size : {uint64_t{100}, uint64_t{4096}, uint64_t{3_MiB}})
    for (int round = 0; round < 3; ++round) {
      auto* const block = static_cast<char*>(heap.allocate(size).value());
      EXPECT_EQ(block[0], 0);
      EXPECT_EQ(block[size - 1], 0);
      block[0] = block[size - 1] = 1;
      ASSERT_TRUE(heap.free(block, "aclrtFreeHost"));
      EXPECT_FALSE(can_be_read(block));
      EXPECT_FALSE(can_be_read(block + size - 1));
    }
}

TEST(HostHeap, OnlyTheBlockItselfCanBeHeld) {
  HostHeap heap;
  auto* const block = static_cast<char*>(heap.allocate(100).value());
  HostUse use;
  EXPECT_TRUE(heap.hold(use, va_of(block), 128, HostUse::Source, "src"));
  EXPECT_EQ(heap.hold(use, va_of(block), 129, HostUse::Source, "src").error().rule, RuleId::CopyPastEnd);
  EXPECT_EQ(heap.hold(use, va_of(block + 128), 1, HostUse::Source, "src").error().rule, RuleId::CopyFreed);
  int local = 0;
  EXPECT_TRUE(heap.hold(use, va_of(&local), 4096, HostUse::Target, "dst"));
}

// Freeing looks again each time: a second attempt succeeds no sooner than the copy ends.
TEST(HostHeap, WhatIsHeldIsNotFreed) {
  HostHeap heap;
  void* const block = heap.allocate(4096).value();
  std::binary_semaphore held(0), end(0);
  for (int round = 0; round < 2; ++round) {  // taken, and taken again
    std::thread copier([&] {
      {
        HostUse first;
        ASSERT_TRUE(heap.hold(first, va_of(block), 8, HostUse::Source, "src"));
      }
      HostUse use;
      if (!heap.hold_again(use, va_of(block), 8, HostUse::Source)) {
        ASSERT_TRUE(heap.hold(use, va_of(block), 8, HostUse::Source, "src"));
      }
      held.release();
      end.acquire();
    });
    held.acquire();
    for (int attempt = 0; attempt < 3; ++attempt)
      EXPECT_EQ(heap.free(block, "aclrtFreeHost").error().rule, RuleId::HostFreeBusy);
    end.release();
    copier.join();
  }
  EXPECT_TRUE(heap.free(block, "aclrtFreeHost"));
  HostUse use;
  EXPECT_FALSE(heap.hold_again(use, va_of(block), 8, HostUse::Source));
  const auto gone = heap.hold(use, va_of(block), 8, HostUse::Source, "src");
  EXPECT_EQ(gone.error().rule, RuleId::CopyFreed);
  EXPECT_NE(gone.error().detail.find("aclrtFreeHost"), std::string::npos) << gone.error().detail;
}

// Copies against frees, of blocks whose addresses come back at once: nobody writes into another's block.
TEST(HostHeap, CopiesAndFreesDoNotMeet) {
  HostHeap heap;
  std::atomic<void*> shared{nullptr};
  std::atomic<bool> stop{false};
  std::thread copier([&] {
    while (!stop.load()) {
      auto* const block = static_cast<char*>(shared.load());
      if (block == nullptr) continue;
      HostUse use;
      if (!heap.hold_again(use, va_of(block), 64, HostUse::Target) &&
          !heap.hold(use, va_of(block), 64, HostUse::Target, "dst"))
        continue;
      std::memset(block, 1, 64);  // faults if the block has gone
    }
  });
  int freed = 0;
  for (int round = 0; round < 3000; ++round) {
    void* const block = heap.allocate(64).value();
    shared.store(block);
    while (!heap.free(block, "aclrtFreeHost")) std::this_thread::yield();
    freed += 1;
  }
  stop.store(true);
  copier.join();
  EXPECT_EQ(freed, 3000);
}

TEST(HostHeap, RegisteringABlockGivesItADeviceAddressOnce) {
  HostHeap heap;
  void* const block = heap.allocate(8192).value();
  EXPECT_EQ(heap.add(block, 8192, false).error().rule, RuleId::HostRegisterOverlap);
  EXPECT_TRUE(heap.add(block, 8192, true));
  EXPECT_EQ(heap.add(block, 8192, true).error().rule, RuleId::HostRegisterOverlap);
  EXPECT_TRUE(heap.remove(block));
  EXPECT_TRUE(heap.add(block, 4096, true));
  EXPECT_TRUE(heap.free(block, "aclrtFreeHost"));
  EXPECT_EQ(heap.remove(block).error().rule, RuleId::HostUnregisterUnknown);
}

}  // namespace
}  // namespace plat::malloc
