// SPDX-License-Identifier: Apache-2.0
// The replay of recordings that the inspector makes.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/units.h"
#include "replay/run.h"
#include "unit/inspect/trace_bytes.h"

namespace plat::replay {
namespace {

using inspect::Op;

// A recording by one thread, told by the values of each call.
class Recording {
 public:
  Recording() { chunk_.thread(1); }
  Recording& call(Op op, const std::vector<uint64_t>& values, const std::string& text = {}) {
    std::vector<uint64_t> words;
    for (size_t i = 0; i < values.size(); ++i) {
      const inspect::FieldKind kind = inspect::kind_of(inspect::info_of(op).fields[i]);
      if (kind == inspect::FieldKind::Number) {
        words.push_back(values[i]);
        continue;
      }
      uint64_t& last = last_[inspect::base_of(kind)];
      words.push_back(inspect::zigzag(values[i] - last));
      last = values[i];
    }
    chunk_.event(op, 1, words, text, inspect::has_text(op));
    return *this;
  }
  Trace read() const {
    const std::vector<uint8_t> bytes = inspect::test::trace_of({chunk_});
    Trace trace;
    std::string why;
    EXPECT_TRUE(parse_trace(std::string(bytes.begin(), bytes.end()), trace, why)) << why;
    return trace;
  }

 private:
  inspect::test::ChunkBytes chunk_;
  std::array<uint64_t, inspect::kBases> last_{};
};

constexpr uint64_t kHere = 0x100000000000;

TEST(ReplayRecording, TakesBlocksOfTheDevice) {
  const Trace trace = Recording()
                          .call(Op::aclrtMalloc, {kHere, 5000, 0})
                          .call(Op::aclrtMallocHost, {0x7000, 100})
                          .call(Op::acldvppMalloc, {kHere + 1_MiB, 300})
                          .call(Op::aclrtFree, {kHere})
                          .call(Op::aclrtMallocPhysical, {0x88, 2_MiB, 0, 1, 0})
                          .read();
  ASSERT_EQ(trace.events.size(), 4u) << "memory of the host is left out";
  EXPECT_EQ(trace.events[0].bytes, 5000u);
  EXPECT_EQ(trace.events[1].bytes, 300u);
  EXPECT_FALSE(trace.events[2].allocate);
  EXPECT_EQ(trace.events[3].bytes, 2_MiB);
  EXPECT_EQ(trace.peak_live_bytes, 2_MiB + 300);
  EXPECT_EQ(trace.streams, 0u);
}

TEST(ReplayRecording, KeepsTheStreamOfEachCallAndWhoElseUsesTheBlock) {
  const Trace trace = Recording()
                          .call(Op::aclrtMemPoolMallocAsync, {kHere, 1_MiB, 0x50, 0x700})
                          .call(Op::aclrtMemsetAsync, {kHere, 100, 0, 0x700})
                          .call(Op::aclrtMemsetAsync, {kHere, 100, 0, 0x900})
                          .call(Op::aclrtMemPoolFreeAsync, {kHere, 0x700})
                          .call(Op::aclrtMemPoolMallocAsync, {kHere, 1_MiB, 0x50, 0x900})
                          .read();
  ASSERT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.streams, 2u);
  EXPECT_EQ(trace.events[0].stream, 1u);
  EXPECT_EQ(trace.events[1].stream, 1u);
  EXPECT_EQ(trace.events[2].stream, 2u);
  ASSERT_EQ(trace.uses.size(), 1u) << "its own stream needs no note";
  EXPECT_EQ(trace.uses[0].before, 1u);
  EXPECT_EQ(trace.uses[0].stream, 2u);
  EXPECT_TRUE(run_once(trace, "pool", 16_MiB, -1).completed);
}

TEST(ReplayRecording, TakesRegionsInsteadOfTheMemoryThatAPoolDivides) {
  const Trace trace = Recording()
                          .call(Op::aclrtMalloc, {kHere, 64_MiB, 0})
                          .call(Op::mstxDomainCreate, {1}, "pool")
                          .call(Op::mstxMemHeapRegister, {1, 10, 0, kHere, 64_MiB, 0, 0})
                          .call(Op::mstxMemRegionsRegister, {1, 10, 20, 0, kHere, 1000, 0})
                          .call(Op::mstxMemRegionsRegister, {1, 10, 21, 0, kHere + 4096, 2000, 0})
                          .call(Op::mstxMemRegionsUnregister, {1, 0, 0, kHere})
                          .call(Op::platMstxMemRegionsResize, {1, 0, 0, kHere + 4096, 500})
                          .call(Op::platMstxMemHeapReset, {1, 10})
                          .read();
  std::vector<std::pair<bool, uint64_t>> seen;
  for (const Event& event : trace.events) seen.emplace_back(event.allocate, event.bytes);
  EXPECT_EQ(seen, (std::vector<std::pair<bool, uint64_t>>{
                      {true, 1000}, {true, 2000}, {false, 1000}, {false, 2000}, {true, 500}, {false, 500}}));
}

TEST(ReplayRecording, LeavesOutPagesThatBackAHeap) {
  const Trace trace = Recording()
                          .call(Op::aclrtReserveMemAddress, {kHere, 1_GiB, 0, 0, 0})
                          .call(Op::mstxDomainCreate, {1}, "pool")
                          .call(Op::mstxMemHeapRegister, {1, 10, 0, kHere, 1_GiB, 0, 0})
                          .call(Op::aclrtMallocPhysical, {0x88, 2_MiB, 0, 1, 0})
                          .call(Op::aclrtMapMem, {kHere, 2_MiB, 0x88, 0})
                          .call(Op::mstxMemRegionsRegister, {1, 10, 20, 0, kHere, 1000, 0})
                          .read();
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events[0].bytes, 1000u);
}

TEST(ReplayRecording, RefusesWhatHoldsNothing) {
  Trace trace;
  std::string why;
  const std::vector<uint8_t> bytes = inspect::test::trace_of({inspect::test::ChunkBytes().thread(1)});
  EXPECT_FALSE(parse_trace(std::string(bytes.begin(), bytes.end()), trace, why));
  EXPECT_EQ(why, "holds no allocation");
  EXPECT_FALSE(parse_trace(std::string("PLATTRC\n"), trace, why));
  EXPECT_FALSE(why.empty());
}

// The model gives the number of a dead object to another after a while.
TEST(ReplayRecording, TellsAPoolsMemoryFromWhatComesLater) {
  Recording recording;
  const auto blocks = [&](size_t count) {
    for (size_t i = 0; i < count; ++i)
      recording.call(Op::aclrtMalloc, {kHere, 1000, 0}).call(Op::aclrtFree, {kHere});
  };
  // Shortly before the model sweeps (Model::kSweepAfter), so that its number is soon given to another; all
  // of it in one chunk.
  blocks(4'000);
  recording.call(Op::mstxDomainCreate, {1}, "pool")
      .call(Op::aclrtMalloc, {kHere, 1000, 0})
      .call(Op::mstxMemHeapRegister, {1, 1, 0, kHere, 1000, 0, 0})
      .call(Op::mstxMemHeapUnregister, {1, 1})
      .call(Op::aclrtFree, {kHere});
  blocks(1'000);
  EXPECT_EQ(recording.read().events.size(), 2 * 5'000u);
}

}  // namespace
}  // namespace plat::replay
