// SPDX-License-Identifier: Apache-2.0
// Address space, pages, and what is left of the machine.
#include "os/memory.h"

#include <gtest/gtest.h>

#include <bit>
#include <cerrno>

#include "base/units.h"
#include "os/file.h"
#include "os/page.h"
#include "os/process.h"

namespace plat::os {
namespace {

TEST(Headroom, IsSomethingAndLessThanTheMachineHas) {
  const Headroom room = headroom();
  EXPECT_GT(room.available_bytes, 0u);
  EXPECT_LE(room.available_bytes, machine_memory_bytes());
  EXPECT_FALSE(room.limited_by.empty());
  EXPECT_GE(machine_memory_bytes(), 64_MiB);
  EXPECT_GE(mapping_limit(), 1024u);
}

TEST(Address, IsReservedOnceAndReleased) {
  const uint64_t start = reserve_address(0, 4_MiB);
  ASSERT_NE(start, 0u);
  if (fixed_addresses_allowed()) {
    EXPECT_EQ(reserve_address(start, 2_MiB), 0u);
    EXPECT_EQ(errno, EEXIST);
    release_address(start, 4_MiB);
    EXPECT_EQ(reserve_address(start, 2_MiB), start);
    release_address(start, 2_MiB);
  } else {
    release_address(start, 4_MiB);
  }
  EXPECT_EQ(reserve_address(0, uint64_t{1} << 60), 0u);
}

TEST(Pages, AnyPartOfThemIsMappedOrNot) {
  const uint64_t page = kernel_page_bytes();
  EXPECT_TRUE(std::has_single_bit(page) && page >= 4096);
  EXPECT_EQ(page_bytes(), page);
  const uint64_t start = reserve_address(0, 4 * page);
  release_address(start + 2 * page, 2 * page);
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{4095}, page - 1, page, 2 * page - 1}) {
    EXPECT_TRUE(is_mapped(start + offset, 1)) << offset;
    EXPECT_TRUE(is_mapped(start + offset, 2 * page - offset)) << offset;
    EXPECT_FALSE(is_mapped(start + offset, 2 * page - offset + 1)) << offset;
  }
  EXPECT_FALSE(is_mapped(start + 2 * page + 5, 1));
  EXPECT_FALSE(is_mapped(start, UINT64_MAX - start + 1));
  release_address(start, 2 * page);
}

TEST(Pages, DiscardedOnesReadZero) {
  const Fd file = create_memory_file("pages", 4_MiB);
  std::byte* memory = map_shared(file.get(), 0, 4_MiB);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(commit(file.get(), 2_MiB, 2_MiB), 0);
  memory[0] = std::byte{1};
  memory[2_MiB] = std::byte{2};
  EXPECT_EQ(discard(memory + 2_MiB, 2_MiB), 0);
  EXPECT_EQ(memory[0], std::byte{1});
  EXPECT_EQ(memory[2_MiB], std::byte{0});
  unmap(memory, 4_MiB);
}

TEST(Pages, AFileIsSeenAtAReservedAddressUntilItIsTakenAway) {
  const Fd file = create_memory_file("seen", 4_MiB);
  std::byte* memory = map_shared(file.get(), 0, 4_MiB);
  const uint64_t start = reserve_address(0, 4_MiB);
  ASSERT_EQ(map_at(start, 2_MiB, file.get(), 2_MiB), 0);
  memory[2_MiB + 5] = std::byte{9};
  EXPECT_EQ(reinterpret_cast<std::byte*>(start)[5], std::byte{9});
  EXPECT_EQ(unmap_at(start, 2_MiB), 0);
  EXPECT_NE(map_at(start, 2_MiB, -1, 0), 0);
  release_address(start, 4_MiB);
  unmap(memory, 4_MiB);
}

TEST(Process, KnowsItself) {
  const ProcessIdentity me = this_process();
  EXPECT_EQ(me.start_time, start_time_of(me.pid));
  EXPECT_NE(me.start_time, 0u);
  EXPECT_EQ(start_time_of(-1), 0u);
  EXPECT_FALSE(process_name(me.pid).empty());
  EXPECT_TRUE(has_open_files(me.pid));
  EXPECT_FALSE(has_open_files(-1));
  EXPECT_NE(random_number(), random_number());
}

}  // namespace
}  // namespace plat::os
