// SPDX-License-Identifier: Apache-2.0
// Every rule of the book has a test that breaks it and one that keeps it:
//
//   RULE_BROKEN(MapOffset) { Memory m; EXPECT_BREAKS(aclrtMapMem(m.va, 2_MiB, 2_MiB, m.handle, 0)); }
//   RULE_KEPT(MapOffset) { Memory m; EXPECT_OK(aclrtMapMem(m.va, 2_MiB, 0, m.handle, 0)); }
//
// Each runs in a process of its own, on a machine of its own. Settings are given before the body:
//   RULE_BROKEN(ProductSupport, {"PLAT_PRODUCT", "950"}) { ... }
// EXPECT_BREAKS checks the code of the rule for the product's driver generation, and that aclGetRecentErrMsg
// cites the rule. A test that breaks nothing fails, and so does one that keeps nothing: of the calls that
// break the rule in the other test it makes one that succeeds. rule_test.cpp names the few that cannot.
//
// The book shows both to its readers as examples (rules/example.h): the first one up to the first breach,
// either up to the first empty line. So they begin with the plainest case, and helpers have a comment.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "base/units.h"
#include "rules/rules.h"

namespace plat::rule_test {

using Settings = std::map<std::string, std::string>;

enum class Side { Broken, Kept };
struct Registered {
  RuleId rule;
  Side side;
};
std::vector<Registered>& registry();
inline bool add(RuleId rule, Side side) {
  registry().push_back({rule, side});
  return true;
}

// Runs the body in a forked child with a small private machine and these settings; fails if the child fails
// or dies. Returns what the body asserted.
struct Asserted {
  std::set<std::string> breaking_calls;  // functions whose message cited the rule
  std::set<std::string> kept;            // expressions that had to succeed, but for those that prepare
};
Asserted run(const Settings& settings, const std::function<void()>& body);
void run_test(RuleId rule, Side side, const Settings& settings, const std::function<void()>& body);

// Under which rule's test we are, for EXPECT_BREAKS.
RuleId& rule_under_test();

void expect_breaks(aclError code, const char* expression, const char* file, int line);
void expect_ok(aclError code, const char* expression, const char* file, int line, bool prepares = false);
// For a rule that is broken otherwise than by a call.
void broken_without_a_call();

// A number as an address.
inline void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace plat::rule_test

#define EXPECT_BREAKS(call) ::plat::rule_test::expect_breaks((call), #call, __FILE__, __LINE__)
#define EXPECT_OK(call) ::plat::rule_test::expect_ok((call), #call, __FILE__, __LINE__)

// In the constructor of a fixture: what it does is not what a test keeps.
#define EXPECT_READY(call) ::plat::rule_test::expect_ok((call), #call, __FILE__, __LINE__, true)

#define RULE_TEST_(side, id, ...)                                                                 \
  static void Rule##side##Body_##id();                                                            \
  static const bool Rule##side##Added_##id =                                                      \
      ::plat::rule_test::add(::plat::RuleId::id, ::plat::rule_test::Side::side);                  \
  TEST(Rule##side, id) {                                                                          \
    (void)Rule##side##Added_##id;                                                                 \
    ::plat::rule_test::run_test(::plat::RuleId::id, ::plat::rule_test::Side::side,                \
                                ::plat::rule_test::Settings{__VA_ARGS__}, Rule##side##Body_##id); \
  }                                                                                               \
  static void Rule##side##Body_##id()

#define RULE_BROKEN(id, ...) RULE_TEST_(Broken, id, __VA_ARGS__)
#define RULE_KEPT(id, ...) RULE_TEST_(Kept, id, __VA_ARGS__)
