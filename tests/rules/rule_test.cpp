// SPDX-License-Identifier: Apache-2.0
#include "rules/rule_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "device/node.h"

namespace plat::rule_test {

std::vector<Registered>& registry() {
  static std::vector<Registered> all;
  return all;
}

RuleId& rule_under_test() {
  static RuleId rule{};
  return rule;
}

void run(const Settings& settings, const std::function<void()>& body) {
  const std::string shared = "rules-" + std::to_string(getpid());
  fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setenv("PLAT_NODE", "private", 1);
    setenv("PLAT_DEVICES", "2", 0);
    setenv("PLAT_CAPACITY", "64MiB", 0);
    setenv("PLAT_HOST_CAPACITY", "64MiB", 0);
    setenv("PLAT_LOG", "off", 0);
    setenv("PLAT_QUIET", "1", 0);
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    // A machine that several processes of the test join, but no other test.
    if (std::string(getenv("PLAT_NODE")) == "shared") setenv("PLAT_NODE", shared.c_str(), 1);
    body();
    fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  for (const auto& file : {"-dev0", "-dev1", "-host"})
    unlink((device::Node::default_directory() + "/" + shared + file).c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "the test's process failed, status " << status;
}

void expect_breaks(aclError code, const char* expression, const char* file, int line) {
  const rules::Rule& rule = rules::get(rule_under_test());
  const char* soc = aclrtGetSocName();
  const bool is_950 = soc != nullptr && std::string(soc).rfind("Ascend950", 0) == 0;
  const int wanted = rule.code(is_950 ? rules::Generation::V3 : rules::Generation::V2);
  const std::string message = aclGetRecentErrMsg();
  if (code != wanted || message.rfind(std::string(rule.name) + " ", 0) != 0)
    ADD_FAILURE_AT(file, line) << expression << "\n  returned " << code << ", wanted " << wanted << " of "
                               << rule.name << "\n  message: " << message;
  if (message.find(rule.fix) == std::string::npos)
    ADD_FAILURE_AT(file, line) << "the message does not say what to do: " << message;
}

void expect_ok(aclError code, const char* expression, const char* file, int line) {
  if (code != ACL_SUCCESS)
    ADD_FAILURE_AT(file, line) << expression << "\n  returned " << code << ": " << aclGetRecentErrMsg();
}

namespace {

// The book and the tests are held against each other: a rule without both of its tests fails here.
TEST(RuleBook, EveryRuleIsBrokenOnceAndKeptOnce) {
  std::map<RuleId, std::set<Side>> tested;
  for (const Registered& test : registry()) tested[test.rule].insert(test.side);
  for (const rules::Rule& rule : rules::all()) {
    // Broken only by a defect of this library, which no test can plant from outside.
    if (rule.id == RuleId::DeviceInternal) continue;
    EXPECT_TRUE(tested[rule.id].count(Side::Broken)) << rule.name << " has no RULE_BROKEN";
    EXPECT_TRUE(tested[rule.id].count(Side::Kept)) << rule.name << " has no RULE_KEPT";
  }
}

}  // namespace
}  // namespace plat::rule_test
