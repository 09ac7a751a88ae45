// SPDX-License-Identifier: Apache-2.0
// Short programs that break and keep a rule, taken from its two tests: what is shown is what runs.
//
// A test of the rules is RULE_BROKEN(Id, settings) { ... } and RULE_KEPT(Id, settings) { ... } in
// tests/rules. What is shown of it ends at the first empty line, and of a broken one with the statement that
// breaks the rule, so that further cases may follow. What plat check finds is shown by two planted programs
// of tests/inspect, which expected.py names; PLANTED(call) is the mistake. The texts of these files are built
// in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rules.h"

namespace plat::rules {

struct Example {
  std::vector<std::string> settings;  // "PLAT_PRODUCT=950"
  std::string text;                   // statements, a line each
  std::vector<std::string> calls;     // that break the rule in its tests, in the order of the alphabet
};

struct Examples {
  Example wrong, right;
  struct Word {
    std::string name, meaning;
  };
  std::vector<Word> words;  // helpers of the tests that occur in them

  bool empty() const { return wrong.text.empty() && right.text.empty(); }
};

struct SourceText {
  const char* name;  // below tests/
  const char* text;
};

// The test files as they were when this was built.
std::span<const SourceText> test_texts();

Examples examples(const Rule& rule);
// From other files than those that are built in.
Examples examples(const Rule& rule, std::span<const SourceText> sources);

// What an expression of the test that keeps a rule calls, through helpers.
std::vector<std::string> calls_in_kept(const Rule& rule, std::string_view expression);

}  // namespace plat::rules
