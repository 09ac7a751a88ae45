// SPDX-License-Identifier: Apache-2.0
// How tools attach to real programs: by environment and preloading, to a program that has mstx as header
// alone and to one that links the library.

#include <filesystem>

#include "clients/mstx/run.h"

namespace plat::mstx::test {
namespace {

// Both forms keep the protocol that tools and programs were written for.
class MstxAttach : public testing::TestWithParam<const char*> {
 protected:
  static Outcome app(std::vector<std::string> arguments, Environment environment) {
    arguments.insert(arguments.begin(), std::string(PROGRAM_DIR) + "/mstx_app_" + GetParam());
    Outcome outcome = run(arguments, std::move(environment));
    EXPECT_EQ(outcome.status, 0);
    return outcome;
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, MstxAttach, testing::Values("header", "library"),
                         [](const auto& test) { return std::string(test.param); });

const Lines kNobody = {"tool 0 range zero domain null heap null region untouched"};

Lines all_of(const std::string& tool_name) {
  Lines lines;
  for (const char* line :
       {"init", "mark hello 7", "mark from_c 0", "range_start work", "range_end 11223344556677",
        "domain_create pool", "domain_mark set inner", "domain_range_start inner", "domain_range_end",
        "heap_register 1024", "regions_register heap type 0 count 1 handles yes size 64",
        "permissions_assign 1", "regions_unregister 1 by handle", "heap_unregister", "domain_destroy"})
    lines.push_back(tool_name + " " + line);
  return lines;
}

TEST_P(MstxAttach, NoTool) {
  const Outcome outcome = app({"everything"}, {});
  EXPECT_EQ(outcome.said, kNobody);
  EXPECT_TRUE(outcome.heard.empty());
}

TEST_P(MstxAttach, TheEnvironmentNamesATool) {
  const Outcome outcome = app({"everything"}, {{"MSTX_INJECTION_PATH", tool("a")}});
  EXPECT_EQ(outcome.said, Lines{"tool 4098 range set domain set heap set region set"});
  EXPECT_EQ(outcome.heard, all_of("a"));
}

TEST_P(MstxAttach, AToolIsPreloaded) {
  const Outcome outcome = app({"everything"}, {{"LD_PRELOAD", tool("b")}});
  EXPECT_EQ(outcome.said, Lines{"tool 4096 range set domain set heap set region set"});
  EXPECT_EQ(outcome.heard, all_of("b"));
}

TEST_P(MstxAttach, TheEnvironmentWinsOverPreloading) {
  const Outcome outcome =
      app({"everything"}, {{"MSTX_INJECTION_PATH", tool("a")}, {"LD_PRELOAD", tool("b")}});
  EXPECT_EQ(outcome.heard, all_of("a"));
}

TEST_P(MstxAttach, ABrokenPathLeavesTheFieldToThePreloaded) {
  const Outcome outcome =
      app({"everything"}, {{"MSTX_INJECTION_PATH", "/nowhere/tool.so"}, {"LD_PRELOAD", tool("b")}});
  EXPECT_EQ(outcome.heard, all_of("b"));
}

TEST_P(MstxAttach, ALibraryWithoutTheSymbolMeansNoTool) {
  const Outcome outcome =
      app({"everything"}, {{"MSTX_INJECTION_PATH", tool("none")}, {"LD_PRELOAD", tool("b")}});
  EXPECT_EQ(outcome.said, kNobody);
  EXPECT_TRUE(outcome.heard.empty());
}

TEST_P(MstxAttach, AToolThatFailsIsNotCalled) {
  const Outcome outcome = app({"everything"}, {{"MSTX_INJECTION_PATH", tool("fails")}});
  EXPECT_EQ(outcome.said, kNobody);
  EXPECT_EQ(outcome.heard, Lines{"fails init"});
}

TEST_P(MstxAttach, TheEnvironmentIsLookedAtOnce) {
  const Outcome outcome = app({"setenv", tool("a")}, {});
  EXPECT_EQ(outcome.said, kNobody);
  EXPECT_TRUE(outcome.heard.empty());
}

TEST_P(MstxAttach, AChildKeepsTheToolOfItsParent) {
  const Outcome outcome = app({"fork"}, {{"MSTX_INJECTION_PATH", tool("a")}});
  EXPECT_EQ(outcome.heard, (Lines{"a init", "a mark parent 0", "a mark child 0"}));
  EXPECT_EQ(outcome.said, Lines{"child 0"});
}

TEST_P(MstxAttach, SlotsThatAToolLeavesAloneDoNothing) {
  const Outcome outcome = app({"everything"}, {{"MSTX_INJECTION_PATH", tool("some")}});
  EXPECT_EQ(outcome.said, Lines{"tool 0 range zero domain null heap set region untouched"});
  EXPECT_EQ(outcome.heard,
            (Lines{"some init", "some mark hello 7", "some mark from_c 0", "some heap_register 1024"}));
}

TEST_P(MstxAttach, AToolThatStoresOnePastTheEndDoesNoHarm) {
  const Outcome outcome = app({"everything"}, {{"MSTX_INJECTION_PATH", tool("greedy")}});
  EXPECT_EQ(outcome.heard, all_of("greedy"));
}

// A deadlock in the original: the tool's start comes back to the program, which calls mstx.
TEST_P(MstxAttach, AToolMayComeBackToTheProgramWhileItStarts) {
  const Outcome outcome = app({"everything"}, {{"MSTX_INJECTION_PATH", tool("reentrant")}});
  EXPECT_EQ(outcome.said, (Lines{"callback 0", "tool 0 range set domain set heap set region set"}));
  EXPECT_EQ(outcome.heard, all_of("reentrant"));  // and not the mark of the callback
}

// Four threads are calling while the tool has stored one function and is not ready.
TEST_P(MstxAttach, CallsWaitForAToolThatIsStarting) {
  const Outcome outcome = app({"threads"}, {{"MSTX_INJECTION_PATH", tool("slow")}});
  EXPECT_EQ(outcome.count("slow init"), 1);
  EXPECT_EQ(outcome.count("slow TOO EARLY"), 0);
  EXPECT_EQ(outcome.count("slow mark t"), 400);
}

// ---- What only the broker can do ----

Outcome run_app(const std::string& form, std::vector<std::string> arguments, Environment environment) {
  arguments.insert(arguments.begin(), std::string(PROGRAM_DIR) + "/mstx_app_" + form);
  Outcome outcome = run(arguments, std::move(environment));
  EXPECT_EQ(outcome.status, 0);
  return outcome;
}

TEST(MstxImages, WithoutTheLibraryEachImageHasTheToolForItself) {
  const Outcome outcome =
      run_app("header", {"images", library("mstx_image")}, {{"MSTX_INJECTION_PATH", tool("a")}});
  EXPECT_EQ(outcome.heard, (Lines{"a init", "a mark from_app 0", "a init", "a mark from_image 0",
                                  "a mark from_app_again 0"}));
}

TEST(MstxImages, ALibraryThatComesLateIsOneMoreImage) {
  const Outcome outcome =
      run_app("header", {"images", library("mstx_image"), broker()}, {{"MSTX_INJECTION_PATH", tool("a")}});
  EXPECT_EQ(outcome.count("a init"), 3);
  EXPECT_EQ(outcome.count("a mark from_library"), 1);
}

TEST(MstxImages, WithTheLibraryTheToolStartsOnceAndHearsAll) {
  const Outcome outcome =
      run_app("library", {"images", library("mstx_image"), broker()}, {{"MSTX_INJECTION_PATH", tool("a")}});
  EXPECT_EQ(outcome.heard, (Lines{"a init", "a mark from_app 0", "a mark from_image 0",
                                  "a mark from_library 0", "a mark from_app_again 0"}));
}

TEST(MstxImages, AnImageWithAnotherMstxReachesTheBroker) {
  // Its own way to the tool is the global InitInjectionMstx, which is the broker's; an old table is not
  // overrun.
  const Outcome outcome = run_app("library", {"images", library("mstx_foreign")},
                                  {{"MSTX_INJECTION_PATH", tool("a") + ":" + tool("b")}});
  EXPECT_EQ(outcome.count("a init"), 1);
  EXPECT_EQ(outcome.count("a mark from_foreign"), 1);
  EXPECT_EQ(outcome.count("b mark from_foreign"), 1);
  EXPECT_TRUE(outcome.has_said("foreign 4098"));
}

TEST(MstxImages, AnImageWithAnotherMstxAndNoToolHearsNothing) {
  const Outcome outcome = run_app("library", {"images", library("mstx_foreign")}, {});
  EXPECT_EQ(outcome.said, Lines{"foreign 0"});
}

TEST(MstxSeveralTools, AreNamedInAList) {
  const Outcome outcome =
      run_app("library", {"everything"}, {{"MSTX_INJECTION_PATH", tool("a") + ":" + tool("b")}});
  EXPECT_EQ(outcome.said, Lines{"tool 4098 range set domain set heap set region set"});
  EXPECT_EQ(outcome.count("a "), 15);
  EXPECT_EQ(outcome.count("b "), 15);
  EXPECT_EQ(outcome.heard[0], "a init");
  EXPECT_EQ(outcome.heard[1], "b init");
}

TEST(MstxSeveralTools, AListFetchesTheLibraryWhereItIsNotLinked) {
  const Outcome outcome =
      run_app("header", {"everything"},
              {{"MSTX_INJECTION_PATH", tool("a") + ":" + tool("b")}, {"LD_LIBRARY_PATH", LIBRARY_DIR}});
  EXPECT_EQ(outcome.count("a "), 15);
  EXPECT_EQ(outcome.count("b "), 15);
}

TEST(MstxSeveralTools, PreloadedOnesJoinAList) {
  const Outcome outcome = run_app("library", {"everything"},
                                  {{"MSTX_INJECTION_PATH", tool("a") + ":"}, {"LD_PRELOAD", tool("b")}});
  EXPECT_EQ(outcome.count("a "), 15);
  EXPECT_EQ(outcome.count("b "), 15);
}

TEST(MstxSeveralTools, AllPreloadedOnesAttach) {
  const Outcome both = run_app("library", {"everything"}, {{"LD_PRELOAD", tool("b") + " " + tool("a")}});
  EXPECT_EQ(both.count("b "), 15);
  EXPECT_EQ(both.count("a "), 15);
  EXPECT_EQ(both.said, Lines{"tool 4096 range set domain set heap set region set"});
  const Outcome first = run_app("header", {"everything"}, {{"LD_PRELOAD", tool("b") + " " + tool("a")}});
  EXPECT_EQ(first.heard, all_of("b"));
}

TEST(MstxSeveralTools, BadEntriesOfAListAreSkipped) {
  const Outcome outcome =
      run_app("library", {"everything"},
              {{"MSTX_INJECTION_PATH",
                "/nowhere.so::" + tool("none") + ":" + tool("fails") + ":" + tool("b") + ":" + broker()}});
  EXPECT_EQ(outcome.count("b "), 15);
  EXPECT_EQ(outcome.count("fails "), 1);
}

TEST(MstxSeveralTools, APathMayHaveAColonInIt) {
  const auto folder = std::filesystem::temp_directory_path() / ("mstx:test" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(tool("a"), folder / "tool.so");
  const Outcome outcome =
      run_app("library", {"everything"}, {{"MSTX_INJECTION_PATH", (folder / "tool.so").string()}});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(outcome.heard, all_of("a"));
}

TEST(MstxSeveralTools, TheLibraryNamedAsItsOwnToolIsNoTool) {
  for (const char* form : {"header", "library"}) {
    const Outcome alone = run_app(form, {"everything"}, {{"MSTX_INJECTION_PATH", broker()}});
    EXPECT_EQ(alone.said, kNobody);
    const Outcome preloaded =
        run_app(form, {"everything"}, {{"MSTX_INJECTION_PATH", broker()}, {"LD_PRELOAD", tool("a")}});
    EXPECT_EQ(preloaded.heard, all_of("a"));
  }
}

TEST(MstxSeveralTools, APreloadedLibraryServesProgramsThatDoNotLinkIt) {
  const Outcome outcome = run_app("header", {"everything"}, {{"LD_PRELOAD", broker() + " " + tool("a")}});
  EXPECT_EQ(outcome.heard, all_of("a"));
}

// ---- Tools that come late ----

TEST(MstxLate, ANewcomerHearsWhatWasRemembered) {
  for (const char* form : {"header", "library"}) {
    Environment environment{{"PLAT_MSTX_REMEMBER", "1"}};
    if (std::string(form) == "header") environment["LD_PRELOAD"] = broker();
    const Outcome outcome = run_app(form, {"late", tool("ext")}, environment);
    EXPECT_EQ(outcome.said, (Lines{"name 0", "attach 0", "detach 0", "loaded null"}));
    EXPECT_EQ(outcome.heard, (Lines{"ext init", "ext replay complete 1 heaps 1 regions 1",
                                    "ext domain_create pool", "ext heap_register 1024", "ext heap_name arena",
                                    "ext regions_register heap type 0 count 1 handles yes size 64",
                                    "ext mark heard 0", "ext regions_unregister 1 by handle", "ext detach"}));
  }
}

TEST(MstxLate, WhatNobodyRememberedIsGone) {
  const Outcome outcome = run_app("library", {"late", tool("ext")}, {});
  EXPECT_EQ(outcome.said, (Lines{"name 3", "attach 0", "detach 0", "loaded null"}));
  EXPECT_EQ(outcome.heard,
            (Lines{"ext init", "ext replay complete 0 heaps 0 regions 0", "ext mark heard 0", "ext detach"}));
}

TEST(MstxLate, AToolThatDoesNotSayItMayGoStaysLoaded) {
  const Outcome outcome = run_app("library", {"late", tool("a")}, {});
  EXPECT_EQ(outcome.said, (Lines{"name 3", "attach 0", "detach 0", "loaded set"}));
}

TEST(MstxLate, WithoutABrokerTheProgramIsTold) {
  const Outcome outcome = run_app("header", {"late", tool("a")}, {});
  EXPECT_EQ(outcome.said, (Lines{"name 2", "attach 2", "detach 2", "loaded null"}));
}

}  // namespace
}  // namespace plat::mstx::test
