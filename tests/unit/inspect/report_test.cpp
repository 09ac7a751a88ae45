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

}  // namespace
}  // namespace plat::inspect
