// SPDX-License-Identifier: Apache-2.0
// The replay: its readers, and the waste of the pool on reduced traces, which is the same on every machine.
#include <gtest/gtest.h>

#include <string>

#include "base/units.h"
#include "replay/run.h"

namespace plat::replay {
namespace {

struct Bound {
  const char* trace;
  double smallest;  // device over peak live
  double reserved;  // unlimited device
};

class Waste : public ::testing::TestWithParam<Bound> {};

TEST_P(Waste, StaysWithinItsBound) {
  Trace trace;
  std::string why;
  ASSERT_TRUE(read_trace(std::string(PLAT_TRACES "/") + GetParam().trace + ".csv.gz", trace, why)) << why;
  const auto peak = static_cast<double>(trace.peak_live_bytes);
  const Outcome unlimited = run_once(trace, "pool", uint64_t{1} << 46, -1);
  ASSERT_TRUE(unlimited.completed);
  EXPECT_LE(static_cast<double>(unlimited.counters.reserved_peak) / peak, GetParam().reserved);
  EXPECT_EQ(unlimited.counters.remaps, 0u) << "with room to grow, no page moves";
  EXPECT_LE(static_cast<double>(smallest_device(trace, "pool", -1, 0.001)) / peak, GetParam().smallest);
}

INSTANTIATE_TEST_SUITE_P(
    Traces, Waste,
    ::testing::Values(Bound{"resnet50_train", 1.0242, 1.0435}, Bound{"fasterrcnn_train", 1.0117, 1.0235},
                      Bound{"ft1b_static", 1.0013, 1.0037}, Bound{"moe_train", 1.0092, 1.038},
                      Bound{"generate7b", 1.0022, 1.0055}, Bound{"adv_churn", 1.0262, 1.340}),
    [](const auto& bound) { return std::string(bound.param.trace); });

TEST(ReplayTrace, ReadsItsOwnFormat) {
  Trace trace;
  std::string why;
  ASSERT_TRUE(parse_trace("a,7,100,0,1\na,8,50,1,2\nf,7,0,0,3\na,7,10,0,4\n", trace, why)) << why;
  EXPECT_EQ(trace.events.size(), 4u);
  EXPECT_EQ(trace.blocks, 3u);
  EXPECT_EQ(trace.peak_live_bytes, 150u);
  EXPECT_EQ(trace.events[2].bytes, 100u);
  EXPECT_FALSE(parse_trace("a,7,100,0,1\na,7,100,0,1\n", trace, why));
  EXPECT_NE(why.find("line 2"), std::string::npos);
  EXPECT_FALSE(parse_trace("hello\n", trace, why));
  EXPECT_FALSE(parse_trace("", trace, why));
}

TEST(ReplayTrace, TakesTheNamesOfTheColumnsForNoEvent) {
  Trace trace;
  std::string why;
  ASSERT_TRUE(parse_trace("op,id,size,stream,time\r\na,7,100,0,1\r\n\nf,7,0,0,3\n", trace, why)) << why;
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events[0].line, 2u);
  EXPECT_EQ(trace.events[1].line, 4u);
  EXPECT_FALSE(parse_trace("a,7,100,0,1\nop,id,size,stream,time\n", trace, why)) << "in the first line alone";
  EXPECT_NE(why.find("line 2"), std::string::npos) << why;
  EXPECT_FALSE(parse_trace("op,id,bytes\na,7,100,0,1\n", trace, why)) << "other columns";
}

TEST(ReplayTrace, KeepsStreamsAndUses) {
  Trace trace;
  std::string why;
  ASSERT_TRUE(parse_trace("a,1,100,77,0\na,2,100,0,1\nu,1,0,5,2\nu,9,0,5,2\nf,1,0,77,3\n", trace, why))
      << why;
  EXPECT_EQ(trace.streams, 2u);
  EXPECT_EQ(trace.events[0].stream, 1u);
  EXPECT_EQ(trace.events[1].stream, 0u) << "none";
  ASSERT_EQ(trace.uses.size(), 1u) << "a use of what does not live is none";
  EXPECT_EQ(trace.uses[0].before, 2u);
  EXPECT_EQ(trace.uses[0].block, 0u);
  EXPECT_EQ(trace.uses[0].stream, 2u);
  std::string many;
  for (int i = 1; i < 300; ++i) many += "a," + std::to_string(i) + ",100," + std::to_string(i) + ",0\n";
  EXPECT_FALSE(parse_trace(many, trace, why));
  EXPECT_EQ(why, "more than 255 streams");
  EXPECT_FALSE(parse_trace("a,1,9000000000000000,0,0\n", trace, why));
  EXPECT_EQ(why, "a block of more than 1 TiB");
}

// Every stream frees what the next one needs: the pool must ask how far they are, and is told that they
// passed.
TEST(ReplayPolicy, ReusesMemoryOfAnotherStream) {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    const std::string id = std::to_string(i);
    const std::string stream = std::to_string(1 + i % 3);
    const std::string other = std::to_string(1 + (i + 1) % 3);
    text += "a," + id + ",3000000," + stream + ",0\nu," + id + ",0," + other + ",0\nf," + id + ",0," +
            stream + ",0\n";
  }
  Trace trace;
  std::string why;
  ASSERT_TRUE(parse_trace(text, trace, why)) << why;
  EXPECT_EQ(trace.uses.size(), 20u);
  const Outcome outcome = run_once(trace, "pool", 4_MiB, -1);
  EXPECT_TRUE(outcome.completed) << outcome.failed_at;
  EXPECT_EQ(outcome.counters.reserved_peak, 4_MiB);
}

TEST(ReplayTrace, ReadsAnRmmLog) {
  Trace trace;
  std::string why;
  ASSERT_TRUE(
      parse_trace("Thread,Time,Action,Pointer,Size,Stream\n"
                  "1,12:00:00:000001,allocate,0x7f00,1024,0x0\n"
                  "1,12:00:00:000002,allocate,0x7f80,64,0x1\n"
                  "1,12:00:00:000003,free,0x7f00,1024,0x0\n",
                  trace, why))
      << why;
  EXPECT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.peak_live_bytes, 1088u);
}

// {"device_traces": [[{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}, {"action":
// "free_completed", ...}]]}
std::string snapshot(const std::string& middle) {
  auto text = [](const std::string& value) {
    return std::string("\x8c") + static_cast<char>(value.size()) + value;
  };
  auto entry = [&](const std::string& action) {
    return "}(" + text("action") + text(action) + text("addr") + std::string("M\x00\x10", 3) + text("size") +
           std::string("M\x00\x02", 3) + text("stream") + std::string("K\x00", 2) + "u";
  };
  return std::string("\x80\x04") + "}" + text("device_traces") + "]](" + entry("alloc") + middle +
         entry("free_completed") + "eas.";
}

TEST(ReplayTrace, ReadsASnapshotAndNothingThatCalls) {
  Trace trace;
  std::string why;
  ASSERT_TRUE(parse_trace(snapshot(""), trace, why)) << why;
  EXPECT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.peak_live_bytes, 512u);
  EXPECT_FALSE(parse_trace(snapshot("cos\nsystem\n"), trace, why)) << "a global is refused";
  EXPECT_NE(why.find("0x63"), std::string::npos) << why;
  EXPECT_FALSE(parse_trace(snapshot("").substr(0, 40), trace, why)) << "a short file is refused";
}

TEST(ReplayTrace, ReadsASnapshotInJson) {
  const std::string entries =
      R"([{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}, {"action": "segment_map", "addr": 1},
          {"action": "free_requested", "addr": 4096, "size": 512}, {"action": "free_completed", "addr": 4096, "size": 512}])";
  Trace trace;
  std::string why;
  ASSERT_TRUE(parse_trace(R"({"device_traces": [[], )" + entries + "]}", trace, why)) << why;
  EXPECT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.peak_live_bytes, 512u);
  EXPECT_FALSE(parse_trace(R"({"segments": []})", trace, why));
  EXPECT_NE(why.find("device_traces"), std::string::npos) << why;
  EXPECT_FALSE(parse_trace(R"({"device_traces": [)", trace, why)) << "a short file is refused";
}

TEST(ReplayPolicy, NamesTheFirstFailingEvent) {
  Trace trace;
  std::string why;
  ASSERT_TRUE(parse_trace("# by hand\n\na,1,3000000,0,0\na,2,3000000,0,1\n", trace, why));
  for (const char* policy : kPolicies) {
    const Outcome outcome = run_once(trace, policy, 4_MiB, -1);
    EXPECT_FALSE(outcome.completed) << policy;
    EXPECT_LE(outcome.failed_at, 1u) << policy;
    EXPECT_EQ(outcome.failed_line, outcome.failed_at + 3) << policy;
  }
}

}  // namespace
}  // namespace plat::replay
