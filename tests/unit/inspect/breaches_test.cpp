// SPDX-License-Identifier: Apache-2.0
// What the device says of calls, and which call it belongs to.
#include <gtest/gtest.h>

#include "unit/inspect/made_up_trace.h"

namespace plat::inspect {
namespace {

using test::MadeUpTrace;

constexpr int kCode = 507899;
constexpr const char* kRefused = "VMM-Map-offset-zero aclrtMapMem(offset): offset is 3";
constexpr const char* kWarned = "COPY-Peer-access aclrtMemcpy(dst): from 0 to 1";

MadeUpTrace& say(MadeUpTrace& trace, const char* text, int code, bool in_call, uint32_t thread = 1) {
  return trace.apply(Op::DeviceSays, {static_cast<uint64_t>(code), in_call ? 1u : 0u}, text, thread);
}

TEST(Breach, IsReadFromItsText) {
  Event event;
  event.op = Op::DeviceSays;
  event.words = {kCode, 1};
  event.text = kRefused;
  const auto breach = Breach::of(event);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->function, "aclrtMapMem");
  EXPECT_EQ(breach->detail, "offset: offset is 3");
  EXPECT_EQ(breach->code, kCode);
  EXPECT_EQ(breach->rule->id, RuleId::MapOffset);
  event.text = "VMM-Map-offset-zero aclrtMapMem(): all of it";
  EXPECT_EQ(Breach::of(event)->detail, "all of it");
  event.text = "VMM-Map-offset-zero aclrtMapMem";
  EXPECT_EQ(Breach::of(event)->function, "aclrtMapMem");
  EXPECT_EQ(Breach::of(event)->detail, "");
  for (const char* const text :
       {"", " ", "aclrtMapMem", "VMM-Map-offset-zero", "NO-Such-rule aclrtMapMem(x): y"}) {
    event.text = text;
    EXPECT_FALSE(Breach::of(event)) << text;
  }
}

TEST(Breach, BelongsToTheCallThatFollowsInItsThread) {
  MadeUpTrace trace;
  say(trace, kRefused, kCode, true, 1);
  trace.apply(Op::aclrtMapMem, {1, 2, 3, 0}, "", 2, false, kCode);  // another thread's
  trace.apply(Op::aclrtMapMem, {1, 2, 3, 0}, "", 1, false, kCode);
  const auto calls = trace.failed_calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].rule, nullptr);
  ASSERT_NE(calls[1].rule, nullptr);
  EXPECT_EQ(calls[1].rule->id, RuleId::MapOffset);
  EXPECT_EQ(calls[1].first.op, Op::aclrtMapMem);
}

TEST(Breach, WaitsForTheEndOfACallThatTellsOfOtherThings) {
  MadeUpTrace trace;
  trace.apply(Op::aclrtSynchronizeStream, {7}, "", 1, true);
  say(trace, "STM-Stream-timeout aclrtSynchronizeStream(stream): late", kCode, true);
  trace.apply(Op::HostWork, {9}).apply(Op::HostWorkEnd, {9});
  trace.apply(Op::mstxMark, {0, 0}, "mark");
  EXPECT_TRUE(trace.failed_calls().empty());
  trace.apply(Op::aclrtSynchronizeStream, {7}, "", 1, false, kCode);
  EXPECT_EQ(trace.failed_calls().size(), 1u);
}

// Host work that runs inside a call of the same thread: its calls are not watched, and fail by themselves.
TEST(Breach, OfAnotherFunctionInsideACallIsThatFunction) {
  MadeUpTrace trace;
  say(trace, kRefused, kCode, true);
  trace.apply(Op::aclrtSynchronizeStream, {7});
  const auto calls = trace.failed_calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].name, "aclrtMapMem");
}

TEST(Breach, OfACallThatIsNotWatchedStandsForIt) {
  MadeUpTrace trace;
  say(trace, "ARG-Null-pointer aclrtGetMemInfo(free): free is null", 107000, false);
  trace.apply(Op::aclrtMalloc, {0x1000, 64, 0});
  const auto calls = trace.failed_calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].name, "aclrtGetMemInfo");
  EXPECT_EQ(calls[0].result, 107000);
}

TEST(Breach, ProbesAreListedWhenAskedFor) {
  for (const bool pedantic : {false, true}) {
    CheckOptions options;
    options.pedantic = pedantic;
    MadeUpTrace trace(options);
    say(trace, "ACL-Init-once aclInit(): again", 100002, true).apply(Op::aclInit, {}, "", 1, false, 100002);
    say(trace, "DEV-Context-missing aclrtGetDevice(): none", 107002, false);
    say(trace, "DEV-Context-missing aclrtMalloc(): none", 107002, true);
    trace.apply(Op::aclrtMalloc, {0, 64, 0}, "", 1, false, 107002);
    EXPECT_EQ(trace.failed_calls().size(), pedantic ? 3u : 1u);
  }
}

TEST(Breach, WarningsAreFindingsThatBreakNothing) {
  MadeUpTrace trace;
  say(trace, kWarned, 0, true);
  trace.apply(Op::aclrtMemcpy, {1, 2, 3, 0, 3});
  ASSERT_EQ(trace.count(RuleId::CopyPeer), 1u);
  const auto found = std::find_if(trace.findings().begin(), trace.findings().end(),
                                  [](const Finding& finding) { return finding.rule == RuleId::CopyPeer; });
  EXPECT_EQ(found->severity(), rules::Severity::Warning);
  EXPECT_EQ(found->site.op, Op::aclrtMemcpy);
  EXPECT_TRUE(trace.failed_calls().empty());
  CheckOptions quiet;
  quiet.warnings = false;
  MadeUpTrace without(quiet);
  say(without, kWarned, 0, false);
  EXPECT_EQ(without.count(RuleId::CopyPeer), 0u);
}

// A rule that is an error by itself, and that the user asked to be warned of.
TEST(Breach, AWarningIsOneWhateverTheRuleIs) {
  MadeUpTrace trace;
  say(trace, "MEM-Free-family aclrtFree(devPtr): of another", 0, false);
  ASSERT_EQ(trace.findings().size(), 1u);
  EXPECT_EQ(rules::get(trace.findings()[0].rule).severity, rules::Severity::Error);
  EXPECT_EQ(trace.findings()[0].severity(), rules::Severity::Warning);
  EXPECT_EQ(trace.findings()[0].call, "aclrtFree");
}

}  // namespace
}  // namespace plat::inspect
