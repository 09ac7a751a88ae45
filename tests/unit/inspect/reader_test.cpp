// SPDX-License-Identifier: Apache-2.0
#include "inspect/trace/reader.h"

#include <gtest/gtest.h>

#include "trace_bytes.h"

namespace plat::inspect {
namespace {

using test::ChunkBytes;
using test::trace_of;

std::optional<Reader> open(const std::vector<uint8_t>& bytes) {
  std::string problem;
  return Reader::open(source_of_bytes(bytes.data(), bytes.size()), problem);
}

std::vector<Event> all_of(Reader& reader) {
  std::vector<Event> events;
  for (Event event; reader.next(event);) events.push_back(event);
  return events;
}

TEST(Reader, MergesThreadsInTheOrderOfTime) {
  ChunkBytes first, second;
  first.thread(1).event(Op::aclInit, 10, {}).event(Op::aclFinalize, 20, {});
  second.thread(2).event(Op::aclrtSetDevice, 15, {3}).event(Op::aclrtResetDevice, 1, {3});
  const auto bytes = trace_of({second, first});
  auto reader = open(bytes);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->info().pid, 42u);
  EXPECT_EQ(reader->info().events, 4u);
  const auto events = all_of(*reader);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].op, Op::aclInit);
  EXPECT_EQ(events[0].thread, 1u);
  EXPECT_EQ(events[1].op, Op::aclrtSetDevice);
  EXPECT_EQ(events[1].device(), 3u);
  EXPECT_EQ(events[2].op, Op::aclrtResetDevice);
  EXPECT_EQ(events[3].op, Op::aclFinalize);
}

TEST(Reader, DifferencesStartAnewWithEachThread) {
  ChunkBytes chunk;
  chunk.thread(1).event(Op::aclrtFree, 5, {zigzag(0x1000)}).event(Op::aclrtFree, 5, {zigzag(0x10)});
  chunk.thread(2).event(Op::aclrtFree, 50, {zigzag(0x2000)});
  const auto bytes = trace_of({chunk});
  auto reader = open(bytes);
  ASSERT_TRUE(reader);
  const auto events = all_of(*reader);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].address(), 0x1010u);
  EXPECT_EQ(events[2].address(), 0x2000u);
  EXPECT_EQ(events[2].thread, 2u);
}

TEST(Reader, ReadsUpToWhatIsDamaged) {
  ChunkBytes chunk;
  chunk.thread(1).event(Op::aclInit, 1, {}).raw({255, 255, 255});
  const auto bytes = trace_of({chunk});
  auto reader = open(bytes);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->info().damaged, 1u);
  EXPECT_EQ(all_of(*reader).size(), 1u);
}

TEST(Reader, ReadsAFileThatEndsInsideAChunk) {
  ChunkBytes chunk;
  chunk.thread(1).event(Op::aclInit, 1, {}).event(Op::aclrtSetDevice, 1, {7});
  auto bytes = trace_of({chunk});
  bytes.resize(kHeaderBytes + sizeof(ChunkHeader) + chunk.bytes().size() - 1);
  auto reader = open(bytes);
  ASSERT_TRUE(reader);
  EXPECT_EQ(all_of(*reader).size(), 1u);
}

TEST(Reader, RefusesOtherFilesAndOtherVersions) {
  EXPECT_FALSE(open({}));
  EXPECT_FALSE(open(std::vector<uint8_t>(10000, 'x')));
  auto bytes = trace_of({});
  EXPECT_TRUE(open(bytes));
  bytes[8] = 99;
  std::string problem;
  EXPECT_FALSE(Reader::open(source_of_bytes(bytes.data(), bytes.size()), problem));
  EXPECT_NE(problem.find("99"), std::string::npos);
}

// A file that grows, as one does that a program is writing.
struct Growing {
  std::vector<uint8_t> bytes;
  Source source() {
    return {bytes.size(),
            [this](void* target, uint64_t offset, size_t size) {
              return source_of_bytes(bytes.data(), bytes.size()).read(target, offset, size);
            },
            [this] { return uint64_t{bytes.size()}; }};
  }
};

TEST(Reader, GoesOnWhereItWasWhenMoreIsWritten) {
  ChunkBytes first;
  first.thread(1).event(Op::aclrtFree, 10, {zigzag(0x1000)});
  Growing file{trace_of({first})};
  std::string problem;
  auto reader = Reader::open(file.source(), problem);
  ASSERT_TRUE(reader);
  EXPECT_EQ(all_of(*reader).size(), 1u);
  reader->refresh();
  EXPECT_TRUE(all_of(*reader).empty());
  // More in the chunk that was read, whose differences go on, and a chunk of another thread.
  ChunkBytes second;
  second.thread(2).event(Op::aclrtSetDevice, 15, {3});
  file.bytes = trace_of({first.event(Op::aclrtFree, 10, {zigzag(0x10)}), second});
  reader->refresh();
  const auto events = all_of(*reader);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].op, Op::aclrtSetDevice);
  EXPECT_EQ(events[0].thread, 2u);
  EXPECT_EQ(events[1].thread, 1u);
  EXPECT_EQ(events[1].address(), 0x1010u);
  EXPECT_EQ(events[1].number, 3u);
  EXPECT_EQ(reader->info().events, 3u);
  EXPECT_EQ(reader->info().damaged, 0u);
}

TEST(Coding, EveryNumberComesBack) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 32, ~uint64_t{0}}) {
    uint8_t space[kVarintMax];
    ByteReader reader(space, static_cast<size_t>(put_varint(space, value) - space));
    EXPECT_EQ(reader.varint(), value);
    EXPECT_TRUE(reader.at_end());
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
  EXPECT_EQ(zigzag(~uint64_t{0}), 1u);  // -1 is small
}

}  // namespace
}  // namespace plat::inspect
