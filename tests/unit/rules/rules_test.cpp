// SPDX-License-Identifier: Apache-2.0
#include "rules/rules.h"

#include <gtest/gtest.h>

#include <set>

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
}

}  // namespace
}  // namespace plat::rules
