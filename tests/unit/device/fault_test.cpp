// SPDX-License-Identifier: Apache-2.0
#include "device/fault.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "base/units.h"
#include "device/config.h"
#include "rules/rules.h"

namespace plat::device::fault {
namespace {

std::vector<Clause> parse(std::string_view text) {
  return parse_plan(text, [&](const std::string& problem) { ADD_FAILURE() << problem; });
}

std::string problem_of(std::string_view text) {
  std::string all;
  parse_plan(text, [&](const std::string& problem) { all += problem + "\n"; });
  return all;
}

class FaultTest : public ::testing::Test {
 protected:
  ~FaultTest() override { arm({}, 0); }

  // Which of the first `calls` calls fail, by their number.
  std::vector<int> failures(std::string_view plan, int calls, uint64_t seed = 1) {
    arm(parse(plan), seed);
    std::vector<int> failed;
    for (int i = 1; i <= calls; ++i)
      if (begin_call("aclrtMalloc")) failed.push_back(i);
    return failed;
  }
};

TEST(FaultPlan, UnderstandsEveryKindOfClause) {
  const auto plan = parse(
      "malloc, nth=3, fail=207001; aclrtMemcpy*, every=5 , delay=50ms,once\n"
      "# a comment; not a clause\n\n"
      "aclrtMapMem,chance=0.25,kill,sticky # why\n"
      "capacity, after=64MiB; capacity, to=2MiB, after=4MiB;");
  ASSERT_EQ(plan.size(), 5u);
  EXPECT_EQ(plan[0].when, When::Nth);
  EXPECT_EQ(plan[0].count, 3u);
  EXPECT_EQ(plan[0].code, 207001);
  EXPECT_TRUE(plan[0].applies_to("aclrtMallocHost") && plan[0].applies_to("hi_mpi_dvpp_malloc"));
  EXPECT_FALSE(plan[0].applies_to("aclrtFree"));
  EXPECT_EQ(plan[1].when, When::Every);
  EXPECT_EQ(plan[1].effect, Effect::Delay);
  EXPECT_EQ(plan[1].delay, std::chrono::milliseconds(50));
  EXPECT_EQ(plan[1].lasts, Lasts::Once);
  EXPECT_TRUE(plan[1].applies_to("aclrtMemcpy") && plan[1].applies_to("aclrtMemcpyAsync"));
  EXPECT_FALSE(plan[1].applies_to("aclrtMemset"));
  EXPECT_EQ(plan[2].effect, Effect::Kill);
  EXPECT_EQ(plan[2].chance, 0.25);
  EXPECT_EQ(plan[2].lasts, Lasts::Sticky);
  EXPECT_FALSE(plan[2].applies_to("aclrtMapMemory"));
  EXPECT_EQ(plan[3].after_bytes, 64_MiB);
  EXPECT_EQ(plan[3].to_bytes, 64_MiB);
  EXPECT_EQ(plan[4].after_bytes, 4_MiB);
  EXPECT_EQ(plan[4].to_bytes, 2_MiB);
}

TEST(FaultPlan, RefusesWhatItDoesNotUnderstand) {
  for (const char* wrong : {"malloc",
                            "malloc, nth=3",
                            "malloc, fail=1",
                            "malloc, nth=0, fail=1",
                            "malloc, nth=-1, fail=1",
                            "malloc, nth=1, fail=0",
                            "malloc, nth=1, fail=1000000",
                            "malloc, nth=1, fail",
                            "mallocs, nth=1, fail=1",
                            "printf, nth=1, fail=1",
                            "acl*rt, nth=1, fail=1",
                            "malloc, nth=1, every=2, fail=1",
                            "malloc, nth=1, fail=1, kill",
                            "malloc, chance=1.5, kill",
                            "malloc, chance=0, kill",
                            "malloc, nth=1, delay=5",
                            "malloc, nth=1, delay=2h",
                            "malloc, nth=1, delay=99999999999s",
                            "malloc, nth=1, kill=now",
                            "malloc, nth=1, uce=1",
                            "malloc, nth=1, uce, kill",
                            "malloc, uce",
                            "malloc, nth=1, kill, twice",
                            "capacity",
                            "capacity, to=2MiB",
                            "capacity, after=much",
                            "capacity, nth=3",
                            "malloc, after=2MiB, kill",
                            ", nth=1, kill",
                            "malloc, nth=1, kill, once=1"})
    EXPECT_NE(problem_of(wrong), "") << wrong;
  EXPECT_NE(problem_of("malloc; free, nth=1, kill").find("malloc: when?"), std::string::npos);
  EXPECT_EQ(problem_of(" ;;\n#\n"), "");
}

TEST(FaultPlan, ServersHaveEffectsOfTheirOwn) {
  const auto plan = parse(
      "server, nth=1, drop; server 3, every=2, delay=5ms; server 0,nth=1,cut,once; server 1, nth=4, stop");
  ASSERT_EQ(plan.size(), 4u);
  for (const Clause& clause : plan) EXPECT_TRUE(clause.of_servers && clause.calls.empty());
  EXPECT_EQ(plan[0].server, kAnyServer);
  EXPECT_EQ(plan[1].server, 3u);
  EXPECT_EQ(plan[1].delay, std::chrono::milliseconds(5));
  EXPECT_EQ(plan[2].effect, Effect::Cut);
  EXPECT_EQ(plan[3].effect, Effect::Drop);
  EXPECT_EQ(plan[3].lasts, Lasts::Sticky);
  for (const char* wrong :
       {"server", "server 1, nth=1", "server 1, cut", "server x, nth=1, cut", "server 1023, nth=1, cut",
        "server -1, nth=1, cut", "server1, nth=1, cut", "server, nth=1, fail=107017", "server, nth=1, kill",
        "server, nth=1, cut, drop", "server, nth=1, cut=1", "server, nth=1, stop, once",
        "server, nth=1, once, stop", "server, nth=1, delay", "malloc, nth=1, cut", "malloc, nth=1, stop"})
    EXPECT_NE(problem_of(wrong), "") << wrong;
}

TEST(FaultPlan, GroupsAreWords) {
  for (const Group& group : groups()) EXPECT_EQ(problem_of(std::string(group.word) + ", nth=1, kill"), "");
}

TEST_F(FaultTest, NoPlanIsHealthy) {
  EXPECT_FALSE(armed());
  EXPECT_FALSE(begin_call("aclrtMalloc"));
  EXPECT_TRUE(allow_allocation(0, 1_GiB, 0));
  EXPECT_EQ(capacity_left(0, 5_GiB), 5_GiB);
}

TEST_F(FaultTest, FiresWhenItsClauseSays) {
  using V = std::vector<int>;
  EXPECT_EQ(failures("malloc, nth=3, fail=1", 6), (V{3}));
  EXPECT_EQ(failures("malloc, nth=3, fail=1, sticky", 6), (V{3, 4, 5, 6}));
  EXPECT_EQ(failures("malloc, every=2, fail=1", 6), (V{2, 4, 6}));
  EXPECT_EQ(failures("malloc, every=2, fail=1, once", 6), (V{2}));
  EXPECT_EQ(failures("malloc, every=4, fail=1, sticky", 6), (V{4, 5, 6}));
  EXPECT_EQ(failures("free, nth=1, fail=1", 6), (V{}));
  EXPECT_EQ(failures("free, nth=1, fail=1; any, nth=2, fail=1", 6), (V{2}));
}

// It waits for memory, in the thread that made the call, and is there once.
TEST_F(FaultTest, MemoryBreaksOnceForEachClauseThatFires) {
  arm(parse("malloc, every=2, uce"), 1);
  EXPECT_FALSE(begin_call("aclrtMalloc"));
  EXPECT_FALSE(take_break());
  EXPECT_FALSE(begin_call("aclrtMalloc"));
  EXPECT_FALSE(begin_call("aclrtMemcpy"));
  end_call();
  bool elsewhere = true;
  std::thread([&] { elsewhere = take_break(); }).join();
  EXPECT_FALSE(elsewhere);
  EXPECT_TRUE(take_break());
  EXPECT_FALSE(take_break());
  EXPECT_FALSE(begin_call("aclrtMalloc"));
  EXPECT_FALSE(begin_call("aclrtMalloc"));
  arm({}, 1);
  EXPECT_FALSE(take_break()) << "with the plan goes what it had planned";
}

TEST_F(FaultTest, ChanceIsRepeatedByItsSeed) {
  const auto once = failures("malloc, chance=0.1, fail=1", 5000, 7);
  EXPECT_EQ(failures("malloc, chance=0.1, fail=1", 5000, 7), once);
  EXPECT_NE(failures("malloc, chance=0.1, fail=1", 5000, 8), once);
  EXPECT_GT(once.size(), 350u);
  EXPECT_LT(once.size(), 650u);
  EXPECT_EQ(failures("malloc, chance=0.1, fail=1, once", 5000, 7), std::vector<int>{once.front()});
  EXPECT_EQ(failures("malloc, chance=1, fail=1", 5).size(), 5u);
}

TEST_F(FaultTest, SaysWhichClauseFired) {
  arm(parse("free, nth=9, kill; malloc, every=2, fail=207001"), 1);
  begin_call("aclrtMalloc");
  const auto failure = begin_call("aclrtMalloc");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, 207001);
  EXPECT_EQ(failure->error.rule, RuleId::FaultInjected);
  EXPECT_EQ(failure->error.detail,
            "clause 2 of the fault plan, 'malloc, every=2, fail=207001', fired at call 2");
}

TEST_F(FaultTest, AnswersAreCountedForEachServer) {
  arm(parse(
          "server 2, nth=2, cut; server, nth=4, delay=3ms; server, nth=4, delay=2ms; malloc, nth=1, fail=1"),
      1);
  EXPECT_FALSE(begin_answer(1));
  EXPECT_FALSE(begin_answer(2));
  EXPECT_FALSE(begin_answer(1));
  const auto both = begin_answer(2);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->effect, Effect::Cut);
  EXPECT_EQ(both->delay, std::chrono::milliseconds(5));
  EXPECT_EQ(both->why, "clause 1 of the fault plan, 'server 2, nth=2, cut', fired at answer 2 of server 2");
  EXPECT_FALSE(begin_answer(2));
  EXPECT_TRUE(begin_call("aclrtMalloc"));
  EXPECT_FALSE(begin_call("server 2"));
}

TEST_F(FaultTest, EachCallIsCountedOnceWhateverTheThread) {
  arm(parse("malloc, every=3, fail=1"), 1);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) failed += begin_call("aclrtMalloc") ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 4000);
}

TEST_F(FaultTest, CapacityShrinksOnceSoMuchWasAllocated) {
  arm(parse("capacity, after=8MiB, to=4MiB"), 1);
  EXPECT_TRUE(allow_allocation(0, 6_MiB, 0));
  EXPECT_EQ(capacity_left(0, 64_MiB), 64_MiB);
  const auto refused = allow_allocation(0, 4_MiB, 6_MiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, RuleId::FaultCapacity);
  EXPECT_EQ(capacity_left(0, 64_MiB), 4_MiB);
  EXPECT_TRUE(allow_allocation(0, 2_MiB, 0));
  EXPECT_TRUE(allow_allocation(0, 2_MiB, 2_MiB));
  EXPECT_FALSE(allow_allocation(0, 2_MiB, 4_MiB));
  EXPECT_FALSE(allow_allocation(0, 8_MiB, 0));
}

TEST_F(FaultTest, EachDeviceShrinksByItself) {
  arm(parse("capacity, after=8MiB, to=4MiB"), 1);
  EXPECT_TRUE(allow_allocation(0, 6_MiB, 0));
  EXPECT_TRUE(allow_allocation(1, 6_MiB, 0));
  EXPECT_FALSE(allow_allocation(1, 4_MiB, 6_MiB));
  EXPECT_EQ(capacity_left(1, 64_MiB), 4_MiB);
  EXPECT_EQ(capacity_left(0, 64_MiB), 64_MiB);
  EXPECT_TRUE(allow_allocation(0, 2_MiB, 6_MiB));
}

TEST_F(FaultTest, ADelayIsTakenOnceByTheThreadThatMadeTheCall) {
  arm(parse("memcpy, nth=1, delay=3ms; memcpy, every=1, delay=1ms"), 1);
  EXPECT_FALSE(begin_call("aclrtMemcpyAsync"));
  std::thread([] { EXPECT_FALSE(take_delay()); }).join();
  EXPECT_EQ(take_delay(), std::chrono::milliseconds(4));
  EXPECT_FALSE(take_delay());
}

TEST(FaultSettings, ComeFromVariableAndFile) {
  const std::string path = ::testing::TempDir() + "plat-faults-" + std::to_string(getpid());
  FILE* file = fopen(path.c_str(), "w");
  fputs("malloc, nth=3, fail=207001\nfree, nth=1, kill\n", file);
  fclose(file);
  const auto read = [](const std::string& value) {
    return device::read_config(
        [&](const std::string& name) { return name == "PLAT_FAULT" ? std::optional(value) : std::nullopt; });
  };
  EXPECT_EQ(read("@" + path + "; any, nth=9, kill").faults.size(), 3u);
  EXPECT_EQ(read("@/no/such/file").complaints.size(), 1u);
  const auto wrong = read("mallocs, nth=9, kill");
  ASSERT_EQ(wrong.complaints.size(), 1u);
  EXPECT_EQ(wrong.complaints[0],
            "PLAT_FAULT=mallocs, nth=9, kill: 'mallocs' is no call and no group of calls");
  unlink(path.c_str());
}

}  // namespace
}  // namespace plat::device::fault
