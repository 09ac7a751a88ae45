// SPDX-License-Identifier: Apache-2.0
// What a model forgets must not show, and what it keeps must not depend on the length of the trace.
#include <gtest/gtest.h>

#include <set>

#include "inspect/check/checker.h"
#include "inspect/check/formatter.h"
#include "random_program.h"

namespace plat::inspect {
namespace {

struct Outcome {
  std::vector<std::string> findings;
  std::set<std::string> rules;
  size_t dead = 0;  // objects that are still known
};

Outcome check(uint64_t seed, uint64_t events, size_t sweep_after) {
  CheckOptions options;
  options.pedantic = true;
  options.sweep_after = sweep_after;
  Checker checker(options);
  test::RandomProgram program(seed);
  for (uint64_t i = 0; i < events; ++i) checker.apply(program.next());
  Outcome outcome;
  checker.model().objects().for_each([&](const Object& object) { outcome.dead += object.lives() ? 0 : 1; });
  checker.finish();
  const TraceInfo nothing;
  Symbols symbols(nothing);
  for (const Finding& finding : checker.findings()) {
    outcome.findings.push_back(to_line(to_json(finding, symbols)));
    outcome.rules.insert(rules::get(finding.rule).name);
  }
  return outcome;
}

class Sweep : public testing::TestWithParam<uint64_t> {};

TEST_P(Sweep, BeforeEveryEventFindsTheSameAsNone) {
  const Outcome without = check(GetParam(), 20'000, Model::kNoSweep);
  const Outcome with = check(GetParam(), 20'000, 0);
  EXPECT_EQ(with.findings, without.findings);
  EXPECT_LT(with.dead * 8, without.dead);  // what lives stays in any case
  EXPECT_GT(without.rules.size(), 25u) << "the program does too little to show anything";
}

INSTANTIATE_TEST_SUITE_P(Seeds, Sweep, testing::Range(uint64_t{1}, uint64_t{5}));

class Books : public testing::Test {
 protected:
  void apply(Op op, std::array<uint64_t, kFieldsMax> words, const std::string& text = "") {
    Event event;
    event.op = op;
    event.words = words;
    event.text = text;
    event.thread = 1;
    event.number = event.time_ns = ++number_;
    checker_.apply(event);
  }
  size_t objects() const { return checker_.model().objects().size(); }

  // Handles that were given back are known for a while; nothing else is kept of the dead but the last one.
  static constexpr size_t kRounds = 2 * Model::kDeadHandles;
  static constexpr size_t kAtMost = Model::kDeadHandles + Model::kDeadHandles + Model::kSweepAfter;

  Checker checker_{CheckOptions{}};
  uint64_t number_ = 0;
};

TEST_F(Books, DoNotGrowWithBlocks) {
  for (uint64_t i = 0; i < kRounds; ++i) {
    apply(Op::aclrtMalloc, {0x1000, 64});
    apply(Op::aclrtMemset, {0x1000, 64});
    apply(Op::aclrtFree, {0x1000});
  }
  EXPECT_LE(objects(), Model::kSweepAfter + 1);
}

TEST_F(Books, DoNotGrowWithRegionsAndTheirHandles) {
  apply(Op::aclrtMalloc, {0x1000, 4096});
  apply(Op::mstxMemHeapRegister, {0, 1, 0, 0x1000, 4096});
  for (uint64_t i = 2; i < 3 * kRounds; ++i) {
    apply(Op::mstxMemRegionsRegister, {0, 1, i, 0, 0x1000, 64});
    apply(Op::mstxMemRegionsUnregister, {0, 1, i});
  }
  EXPECT_LE(objects(), kAtMost);
  EXPECT_TRUE(checker_.findings().empty());
}

TEST_F(Books, DoNotGrowWithMappings) {
  apply(Op::aclrtReserveMemAddress, {0x200000, 0x200000});
  for (uint64_t i = 1; i < 2 * kRounds; ++i) {
    apply(Op::aclrtMallocPhysical, {i, 0x200000, 0, 1, 0});
    apply(Op::aclrtMapMem, {0x200000, 0x200000, i});
    apply(Op::aclrtUnmapMem, {0x200000});
    apply(Op::aclrtFreePhysical, {i});
  }
  EXPECT_LE(objects(), kAtMost);
  EXPECT_TRUE(checker_.findings().empty());
}

TEST_F(Books, AHandleThatIsUsedAgainAndAgainIsKnownToBeDead) {
  for (uint64_t i = 0; i < kRounds; ++i) {
    apply(Op::aclrtReserveMemAddress, {0x200000, 0x200000});
    apply(Op::aclrtReleaseMemAddress, {0x200000});
  }
  apply(Op::aclrtReleaseMemAddress, {0x200000});
  ASSERT_EQ(checker_.findings().size(), 1u);
  EXPECT_EQ(checker_.findings().front().rule, RuleId::GivenBackTwice);
}

TEST_F(Books, MemoryThatIsMappedIsKnownHoweverLongItsHandleIsGone) {
  apply(Op::aclrtReserveMemAddress, {0x200000, 0x200000});
  apply(Op::aclrtMallocPhysical, {7, 0x200000, 0, 1, 0});
  apply(Op::aclrtMapMem, {0x200000, 0x200000, 7});
  apply(Op::aclrtMemset, {0x200000, 0x200000});
  apply(Op::aclrtFreePhysical, {7});
  for (uint64_t i = 0; i < 2 * kRounds; ++i) {
    apply(Op::aclrtCreateEvent, {100 + i});
    apply(Op::aclrtDestroyEvent, {100 + i});
  }
  apply(Op::aclrtMemcpy, {0x10, 0x200000, 0x200000, 0, 2});
  apply(Op::aclrtFreePhysical, {7});
  ASSERT_EQ(checker_.findings().size(), 2u);
  EXPECT_EQ(checker_.findings()[0].rule, RuleId::RuleTeardown);  // freed while it was mapped
  EXPECT_EQ(checker_.findings()[1].rule, RuleId::GivenBackTwice);
}

TEST_F(Books, StreamsThatComeAndGoShareTheirClocks) {
  // One clock for each of them, each as long as there were streams before it, would be 8 GiB.
  for (uint64_t i = 1; i < kRounds / 2; ++i) {
    apply(Op::aclrtCreateStream, {i});
    apply(Op::aclrtMemsetAsync, {0x1000, 64, 0, i});
    apply(Op::aclrtDestroyStream, {i});
  }
  EXPECT_LE(checker_.model().order().size(), 2u);
}

TEST_F(Books, MarksWithNumbersInThemAreNotAllKept) {
  for (uint64_t i = 0; i < 1000; ++i) {
    apply(Op::aclrtMalloc, {0x1000 * (i + 1), 64});
    apply(Op::mstxMark, {0, 0}, "step");
    apply(Op::mstxMark, {0, 0}, "step " + std::to_string(i));
  }
  checker_.finish();
  size_t growing = 0;
  for (const Finding& finding : checker_.findings()) growing += finding.rule == RuleId::GrowthMarks ? 1 : 0;
  EXPECT_EQ(growing, 1u);
}

TEST_F(Books, FindingsOfOneRuleAreCountedWhenThereAreEnough) {
  for (uint64_t i = 0; i < 2 * Checker::kFindingsOfRule; ++i)
    apply(Op::aclrtMemset, {0x100000 * (i + 1), 64});
  EXPECT_EQ(checker_.findings().size(), Checker::kFindingsOfRule);
  EXPECT_EQ(checker_.totals().left_out, Checker::kFindingsOfRule);
}

}  // namespace
}  // namespace plat::inspect
