// SPDX-License-Identifier: Apache-2.0
#include "rules/page.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"

namespace plat::rules {
namespace {

TEST(RuleBook, IdsIndexTheBook) {
  for (const Rule& rule : all()) EXPECT_EQ(&get(rule.id), &rule);
}

TEST(RuleBook, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Rule& rule : all()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(find(rule.name), &rule);
  }
  EXPECT_EQ(find("no-such-rule"), nullptr);
  EXPECT_NE(find("arg-null-POINTER"), nullptr);
}

TEST(RuleBook, EveryRuleIsComplete) {
  for (const Rule& rule : all()) {
    EXPECT_GT(std::string(rule.sentence).size(), 10u) << rule.name;
    EXPECT_GT(std::string(rule.cause).size(), 10u) << rule.name;
    EXPECT_GT(std::string(rule.fix).size(), 5u) << rule.name;
    EXPECT_NE(rule.chapter, nullptr) << rule.name;
    EXPECT_EQ(rule.is_finding(), std::string(rule.name).starts_with("INSP-")) << rule.name;
    if (rule.is_finding()) {
      EXPECT_EQ(rule.code_v2 + rule.code_v3, 0) << rule.name;
      EXPECT_NE(rule.severity, Severity::Off) << rule.name;
      continue;
    }
    EXPECT_GE(rule.code_v2, 100000) << rule.name;
    EXPECT_GE(rule.code_v3, 100000) << rule.name;
    EXPECT_TRUE(rule.kind == Kind::Soft || rule.severity == Severity::Error) << rule.name;
  }
}

TEST(RuleBook, PageNamesTheRuleItsCodeAndItsFix) {
  const Rule& rule = get(RuleId::ArgNull);
  const std::string text = page(rule);
  EXPECT_NE(text.find(rule.name), std::string::npos);
  EXPECT_NE(text.find("100000"), std::string::npos);
  EXPECT_NE(text.find(rule.fix), std::string::npos);
  const std::string found = page(get(RuleId::LeakStream));
  EXPECT_NE(found.find("plat check"), std::string::npos);
  EXPECT_EQ(found.find("Returns"), std::string::npos);
}

size_t times(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(RuleBook, EveryRuleStandsInItsChapterAndInTheIndex) {
  std::map<const Chapter*, std::string> pages;
  std::string chapters_together;
  for (const Chapter& chapter : chapters()) chapters_together += pages[&chapter] = page(chapter);
  const std::string index = index_page();
  for (const Rule& rule : all()) {
    const std::string heading = std::string("\n## ") + rule.name + "\n";
    EXPECT_EQ(times(chapters_together, heading), 1u) << rule.name;
    EXPECT_NE(pages[rule.chapter].find(heading), std::string::npos) << rule.name;
    const std::string link =
        "| [" + std::string(rule.name) + "](" + rule.chapter->name + ".md#" + to_lower(rule.name) + ")";
    EXPECT_EQ(times(index, link), 1u) << rule.name;
  }
}

}  // namespace
}  // namespace plat::rules
