// SPDX-License-Identifier: Apache-2.0
#include "rules/example.h"

#include <gtest/gtest.h>

#include <set>

#include "rules/example_layout.h"
#include "rules/source_scan.h"

namespace plat::rules {
namespace {

const Rule& map_offset() { return *find("VMM-Map-offset-zero"); }

constexpr SourceText kSources[] = {{"rules/a_fixture.h", R"(
// Two devices.
struct Memory {
  Memory() { EXPECT_READY(aclrtSetDevice(0)); }
};
)"},
                                   {"rules/a_rules_test.cpp", R"(
aclError map(size_t offset) { return aclrtMapMem(va, 2_MiB, offset, handle, 0); }

RULE_BROKEN(MapOffsetOther) { EXPECT_BREAKS(aclrtFree(nullptr)); }

RULE_BROKEN(MapOffset, {"PLAT_PRODUCT", "950"}, {"PLAT_LOG", "off"}) {
  Memory m;
  const char* text = "not a } brace";
  EXPECT_OK(
      aclrtSetDevice(1));
  for (int i = 0; i < 2; ++i) {
    EXPECT_BREAKS(map(i + 1'000));  // both
  }
  EXPECT_BREAKS(aclrtUnmapMem(m.va));
}
RULE_KEPT(MapOffset) {
  EXPECT_EQ(map(0), f(1, 2)) << "said";

  EXPECT_OK(aclrtFree(nullptr));
}
)"}};

TEST(RuleExamples, AreTheBodiesOfTheTests) {
  const Examples both = examples(map_offset(), kSources);
  EXPECT_EQ(both.wrong.settings, (std::vector<std::string>{"PLAT_PRODUCT=950", "PLAT_LOG=off"}));
  EXPECT_EQ(both.wrong.text,
            "Memory m;\n"
            "const char* text = \"not a } brace\";\n"
            "aclrtSetDevice(1);\n"
            "for (int i = 0; i < 2; ++i) {\n"
            "  map(i + 1'000);  // VMM-Map-offset-zero\n"
            "}\n");
  EXPECT_EQ(both.wrong.calls, (std::vector<std::string>{"aclrtMapMem", "aclrtUnmapMem"}));
  EXPECT_EQ(both.right.text, "assert(map(0) == f(1, 2));\n");
  ASSERT_EQ(both.words.size(), 1u);
  EXPECT_EQ(both.words[0].name + both.words[0].meaning, "MemoryTwo devices.");
}

TEST(RuleExamples, FollowAHelper) {
  const SourceText source{"rules/a_rules_test.cpp", R"(
void refuses() {
  EXPECT_BREAKS(aclrtMapMem(va, 1, 1, handle, 0));
}
#define ON_A3 \
  { "PLAT_PRODUCT", "a3" }
RULE_BROKEN(MapOffset, ON_A3, {"PLAT_NODE", "shared"}) { refuses(); }
)"};
  const Examples both = examples(map_offset(), std::span(&source, 1));
  EXPECT_EQ(both.wrong.text, "aclrtMapMem(va, 1, 1, handle, 0);  // VMM-Map-offset-zero\n");
  EXPECT_EQ(both.wrong.calls, std::vector<std::string>{"aclrtMapMem"});
  EXPECT_EQ(both.wrong.settings, std::vector<std::string>{"PLAT_PRODUCT=a3"});
}

constexpr SourceText kPrograms[] = {{"inspect/expected.py", R"(
    "long": ["INSP-Leak-stream"],
    "both": ["INSP-Leak-event", "INSP-Leak-stream"],
    "INSP-Leak-stream": "kept",
)"},
                                    {"inspect/a_programs.cpp", R"(
  all["both"] = [] {
    aclrtStream stream;
  };
  all["long"] = [] {
    Device device;
    MUST(aclrtCreateStream(&stream));
  };
  all["kept"] = [] { run(); };
)"}};

TEST(RuleExamples, OfFindingsAreThePlantedPrograms) {
  const Examples both = examples(*find("INSP-Leak-stream"), kPrograms);
  EXPECT_EQ(both.wrong.text, "Device device;\naclrtCreateStream(&stream);\n");
  EXPECT_EQ(both.right.text, "run();\n");
  EXPECT_EQ(examples(*find("INSP-Leak-event"), kPrograms).wrong.text, "aclrtStream stream;\n");
  EXPECT_TRUE(examples(*find("INSP-Leak-pool"), kPrograms).empty());
}

TEST(RuleExamples, TornTextsEndNothing) {
  EXPECT_EQ(closing("f(", 1), std::string_view::npos);
  EXPECT_EQ(closing("(\"", 0), std::string_view::npos);
  for (const char* text :
       {"\nRULE_BROKEN(MapOffset", "\nRULE_BROKEN(MapOffset) {", "\nRULE_BROKEN(MapOffset) { f(\"",
        "\nRULE_BROKEN(MapOffset) { EXPECT_BREAKS(f }"}) {
    const SourceText source{"rules/a_rules_test.cpp", text};
    examples(map_offset(), std::span(&source, 1));
  }
}

// What is built in: every rule shows both, and which calls raise it.
TEST(RuleExamples, EveryRuleHasThem) {
  // Broken by a defect of ours alone; by the host and no call; by what the command line asks for.
  const std::set<std::string> without_programs{"DEV-Internal", "INSP-Budget-peak", "INSP-Budget-live"};
  for (const Rule& rule : all()) {
    const Examples both = examples(rule);
    if (without_programs.count(rule.name) != 0) continue;
    EXPECT_FALSE(both.wrong.text.empty()) << rule.name;
    EXPECT_FALSE(both.right.text.empty()) << rule.name;
    EXPECT_EQ(both.wrong.calls.empty(), rule.is_finding() || rule.name == std::string("VMM-Host-dereference"))
        << rule.name;
    EXPECT_EQ((both.wrong.text + both.right.text).find("EXPECT_"), std::string::npos) << rule.name;
  }
}

}  // namespace
}  // namespace plat::rules
