// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/report.h"

#include <gtest/gtest.h>

#include "trace_bytes.h"

namespace plat::inspect {
namespace {

using test::ChunkBytes;
using test::trace_of;

// Blocks of a growing size, of which every third stays.
void add_block(ChunkBytes& chunk, uint64_t number) {
  chunk.event(Op::aclrtMalloc, 1, {zigzag(0x1000), 64 * number, 0});
  if (number % 3 != 0) chunk.event(Op::aclrtFree, 1, {zigzag(0)});
}

void expect_same(const Report& live, const Report& whole) {
  EXPECT_EQ(live.events, whole.events);
  EXPECT_EQ(live.live_bytes, whole.live_bytes);
  EXPECT_EQ(live.peak_bytes, whole.peak_bytes);
  EXPECT_EQ(live.timeline, whole.timeline);
  ASSERT_EQ(live.owners.size(), whole.owners.size());
  EXPECT_EQ(live.owners[0].births, whole.owners[0].births);
  EXPECT_EQ(live.owners[0].temporary, whole.owners[0].temporary);
  ASSERT_EQ(live.at_end.size(), whole.at_end.size());
  EXPECT_EQ(live.at_end[0].live_bytes, whole.at_end[0].live_bytes);
}

TEST(LiveReport, SaysAtEveryLookWhatOneLookAtThatMomentWould) {
  std::vector<uint8_t> bytes;
  const Source source{0,
                      [&](void* target, uint64_t offset, size_t size) {
                        return source_of_bytes(bytes.data(), bytes.size()).read(target, offset, size);
                      },
                      [&] { return uint64_t{bytes.size()}; }};
  ChunkBytes chunk;
  chunk.thread(1);
  add_block(chunk, 3);
  bytes = trace_of({chunk});
  std::string problem;
  const auto live = LiveReport::open(source, problem);
  ASSERT_TRUE(live) << problem;
  for (uint64_t number = 1; number < 40; ++number) {
    add_block(chunk, number);
    bytes = trace_of({chunk});
    const auto whole = make_report(source_of_bytes(bytes.data(), bytes.size()), problem);
    ASSERT_TRUE(whole);
    expect_same(live->update(), *whole);
  }
}

TEST(LiveReport, RefusesWhatIsNoTrace) {
  const std::vector<uint8_t> bytes(8192);
  std::string problem;
  EXPECT_EQ(LiveReport::open(source_of_bytes(bytes.data(), bytes.size()), problem), nullptr);
  EXPECT_FALSE(problem.empty());
}

TEST(Report, ListsThoseWhoHaveMemoryBeforeThoseWhoHaveAddresses) {
  ChunkBytes chunk;
  chunk.thread(1)
      .event(Op::aclrtReserveMemAddress, 1, {zigzag(0x40000000), 1 << 30, 0, 0, 0})
      .event(Op::aclrtMalloc, 1, {zigzag(0x1000), 64, 0});
  const auto bytes = trace_of({chunk});
  std::string problem;
  const auto report = make_report(source_of_bytes(bytes.data(), bytes.size()), problem);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->at_peak.size(), 2u);
  EXPECT_EQ(report->at_peak[0].kind, Kind::DeviceBlock);
  EXPECT_EQ(report->at_peak[1].kind, Kind::Reservation);
}

TEST(Report, DoesNotMixWhatLiesInEachOther) {
  ChunkBytes chunk;
  chunk.thread(1)
      .event(Op::aclrtMallocHost, 1, {zigzag(0x100000), 0x8000})
      .event(Op::aclrtMalloc, 1, {zigzag(0x10000), 0x2000, 0})
      .event(Op::mstxMemHeapRegister, 1, {0, 1, 0, zigzag(0), 0x40000000, 0, 0})
      .event(Op::mstxMemRegionsRegister, 1, {0, 1, 2, 0, zigzag(0), 0x1800, 0})
      .event(Op::aclrtMalloc, 1, {zigzag(0x80000), 0x1000, 0});
  const auto bytes = trace_of({chunk});
  std::string problem;
  const auto report = make_report(source_of_bytes(bytes.data(), bytes.size()), problem);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->peak_bytes, 0x3000u);
  std::vector<std::pair<Group, uint64_t>> held;
  for (const Owner& owner : report->at_peak) held.emplace_back(owner.group, owner.live_bytes);
  EXPECT_EQ(held, (std::vector<std::pair<Group, uint64_t>>{{Group::Device, 0x3000},
                                                           {Group::Pools, 0x1800},
                                                           {Group::Host, 0x8000},
                                                           {Group::Addresses, 0x40000000}}));
}

TEST(Report, TheHolesOfAHeapAreThoseOfItsMemory) {
  ChunkBytes chunk;
  chunk.thread(1)
      .event(Op::aclrtMalloc, 1, {zigzag(0x10000), 0x1000, 0})
      .event(Op::aclrtMalloc, 1, {zigzag(0x1000), 0x1000, 0})  // touches the first
      .event(Op::aclrtMalloc, 1, {zigzag(0x3000), 0x1000, 0})
      .event(Op::mstxMemHeapRegister, 1, {0, 1, 0, zigzag(-0x4000), 0x40000000, 0, 0})
      .event(Op::mstxMemRegionsRegister, 1, {0, 1, 2, 0, zigzag(0), 0x400, 0});
  const auto bytes = trace_of({chunk});
  std::string problem;
  const auto report = make_report(source_of_bytes(bytes.data(), bytes.size()), problem);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->holes_at_end.size(), 1u);
  const Holes& heap = report->holes_at_end[0];
  EXPECT_EQ(heap.size, 0x40000000u);
  EXPECT_EQ(heap.held_bytes, 0x3000u);
  EXPECT_EQ(heap.used_bytes, 0x400u);
  EXPECT_EQ(heap.free_ranges, 2u);
  EXPECT_EQ(heap.largest_free, 0x1c00u);
  EXPECT_EQ(heap.free_bytes(), 0x2c00u);
}

}  // namespace
}  // namespace plat::inspect
