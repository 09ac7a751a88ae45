// SPDX-License-Identifier: Apache-2.0
#include "rules/example.h"

#include <gtest/gtest.h>

#include <cctype>
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
#include "rules/a_fixture.h"
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
    "other": ["INSP-Leak-stream"],
    "long": ["INSP-Leak-stream", "INSP-Leak-stream"],
    "both": ["INSP-Leak-event", "INSP-Leak-stream"],
    "INSP-Leak-stream": ("long", "kept"),
    "INSP-Leak-event": ("both", "kept"),
)"},
                                    {"inspect/program.h", R"(
// All there is.
struct Device {
};
// 4 KiB.
inline constexpr size_t kSize = 4096;
// Makes one.
inline aclrtStream make(size_t size) {
  return made_by_another(size);
}
// Does nothing.
void work() {}
aclrtStream made_by_another(size_t size) {
  make(aclrtCreateStreamWithConfig(&stream, 0, size));
}
)"},
                                    {"inspect/a_programs.cpp", R"(
#include "inspect/program.h"
  all["both"] = [] {
    aclrtStream stream;
    PLANTED(aclrtCreateEvent(&event));
  };
  all["long"] = [] {
    Device device;
    MUST(PLANTED(aclrtCreateStream(&stream)));  // its own words
    stream.make(1);
  };
  all["other"] = [] {
    std::thread([] { PLANTED(make(kSize)); }).join();
  };
  all["kept"] = [] { run(make(kSize)), run(work); };
)"}};

TEST(RuleExamples, OfFindingsAreThePlantedPrograms) {
  const Examples both = examples(*find("INSP-Leak-stream"), kPrograms);
  EXPECT_EQ(both.wrong.text,
            "Device device;\naclrtCreateStream(&stream);  // INSP-Leak-stream\nstream.make(1);\n");
  EXPECT_EQ(both.right.text, "run(make(kSize)), run(work);\n");
  // Of all that break this rule alone, through helpers.
  EXPECT_EQ(both.wrong.calls, (std::vector<std::string>{"aclrtCreateStream", "aclrtCreateStreamWithConfig"}));
  ASSERT_EQ(both.words.size(), 4u);
  EXPECT_EQ(both.words[0].name + ": " + both.words[0].meaning, "Device: All there is.");
  EXPECT_EQ(both.words[1].name + ": " + both.words[1].meaning, "kSize: 4 KiB.");
  EXPECT_EQ(both.words[2].name + ": " + both.words[2].meaning, "make: Makes one.");
  EXPECT_EQ(both.words[3].name + ": " + both.words[3].meaning, "work: Does nothing.");  // passed on
  // The one that is shown counts also where it breaks another.
  EXPECT_EQ(examples(*find("INSP-Leak-event"), kPrograms).wrong.calls,
            (std::vector<std::string>{"aclrtCreateEvent"}));
  EXPECT_TRUE(examples(*find("INSP-Leak-pool"), kPrograms).empty());
}

// The name of the rule ends its line, so that it turns no code into a comment; a line at the margin is whole.
TEST(RuleExamples, TheMarkEndsItsLine) {
  EXPECT_EQ(lay_out("\n  std::thread([] { EXPECT_BREAKS(f(1)); }).join();\n  g();\n", "A-rule"),
            "std::thread([] { f(1); }).join();  // A-rule\n");
  EXPECT_EQ(lay_out("\n  EXPECT_BREAKS(\n      f(1));  // own words\n", "A-rule"), "f(1);  // A-rule\n");
  EXPECT_EQ(lay_out("\n  f();\n#define G 1\n  g();\n", ""), "f();\n#define G 1\ng();\n");
  EXPECT_EQ(lay_out("\n  EXPECT_STREQ(f(), \"a, b\");\n", ""), "assert(std::strcmp(f(), \"a, b\") == 0);\n");
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

bool is_of_a_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Of the language, its library and the system.
bool is_common(const std::string& name) {
  static const std::set<std::string> common{
      "assert",           "sizeof",      "for",      "while",    "if",       "switch",
      "return",           "catch",       "decltype", "malloc",   "fork",     "mmap",
      "munmap",           "waitpid",     "getpid",   "sysconf",  "free",     "_exit",
      "getenv",           "setenv",      "unlink",   "sem_wait", "sem_post", "signal",
      "WIFEXITED",        "WEXITSTATUS", "sem_init", "mprotect", "freopen",  "getppid",
      "__builtin_memcpy", "system",      "mkdtemp",  "unsetenv"};
  return common.count(name) != 0;
}

// Names in an example that a reader cannot know: what is called, constants, and types of objects, unless they
// are public, members, or made in the example itself.
std::vector<std::string> unexplained(const std::string& text, const Examples& both) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const auto& word : both.words) known.insert(word.name);
  for (const std::string& line : lines_of(text)) {
    const std::string code = line.substr(0, line.find("//"));
    std::string before;  // the word and the sign before this one
    for (size_t at = 0; at < code.size();) {
      const char c = code[at];
      if (c == '"') {
        at = code.find('"', at + 1) + 1;
        continue;
      }
      if (!is_of_a_name(c)) {
        if (c != ' ') before = c;
        ++at;
        continue;
      }
      size_t end = at;
      while (end < code.size() && is_of_a_name(code[end])) ++end;
      const std::string name = code.substr(at, end - at);
      const std::string after = code.substr(end, 2);
      const bool is_member = before == "." || before == ":" || (before == ">" && code[at - 1] == '>');
      const bool is_upper = std::isupper(static_cast<unsigned char>(name[0])) != 0;
      const bool is_type = is_upper && name.size() > 1 && after[0] == ' ' && is_of_a_name(after[1]) &&
                           std::islower(static_cast<unsigned char>(name[1])) != 0;
      const bool is_constant = name[0] == 'k' && name.size() > 1 && name[1] >= 'A' && name[1] <= 'Z';
      const bool follows_type =
          (before.size() > 1 && before != "return") || before == "*" || before == "&" || before == ">";
      const bool is_made = after == " =" || (follows_type && (after[0] == '(' || after[0] == '{'));
      const bool is_public = name.starts_with("acl") || name.starts_with("hi_") || name.starts_with("mstx") ||
                             name.starts_with("ACL");
      if (is_made) known.insert(name);
      if ((after[0] == '(' || is_constant || is_type) && !is_member && !is_public && !is_common(name) &&
          known.insert(name).second)
        names.push_back(name);
      before = name;
      at = end;
    }
  }
  return names;
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
    EXPECT_EQ(both.wrong.calls.empty(), rule.name == std::string("VMM-Host-dereference")) << rule.name;
  }
}

// An example is whole, short, and says itself what its helpers are. tests/rules compiles them all.
TEST(RuleExamples, CanBeReadAlone) {
  constexpr size_t kMostLines = 22;
  for (const Rule& rule : all()) {
    const Examples both = examples(rule);
    for (const std::string& text : {both.wrong.text, both.right.text}) {
      EXPECT_EQ(text.find("EXPECT_"), std::string::npos) << rule.name << "\n" << text;
      EXPECT_EQ(text.find("\n#"), std::string::npos) << rule.name << " has a directive:\n" << text;
      EXPECT_EQ(text.find("#if"), std::string::npos) << rule.name << " has a directive:\n" << text;
      EXPECT_EQ(closing("{" + text + "}", 0), text.size() + 1) << rule.name << " is torn:\n" << text;
      EXPECT_LE(lines_of(text).size(), kMostLines) << rule.name << " is long:\n" << text;
      for (const std::string& name : unexplained(text, both))
        ADD_FAILURE() << rule.name << " does not explain " << name << ":\n" << text;
    }
    const std::string mark = std::string("// ") + rule.name;
    size_t marked = 0;
    for (const std::string& line : lines_of(both.wrong.text)) {
      if (line.find(mark) == std::string::npos) continue;
      EXPECT_TRUE(line.ends_with(mark)) << rule.name << ": the rest of the line is a comment: " << line;
      ++marked;
    }
    EXPECT_EQ(marked, both.wrong.calls.empty() ? 0u : 1u) << rule.name << "\n" << both.wrong.text;
  }
}

}  // namespace
}  // namespace plat::rules
