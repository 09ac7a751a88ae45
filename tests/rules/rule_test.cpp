// SPDX-License-Identifier: Apache-2.0
#include "rules/rule_test.h"

#include <gtest/gtest-spi.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

#include "device/node.h"
#include "os/file.h"
#include "rules/example.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {

std::vector<Registered>& registry() {
  static std::vector<Registered> all;
  return all;
}

RuleId& rule_under_test() {
  static RuleId rule{};
  return rule;
}

namespace {

// What the body asserts is written here, a line each, also by processes that it starts.
int notes_fd = -1;

void note(char kind, const std::string& text) {
  static std::mutex mutex;             // bodies have threads
  static std::set<std::string> noted;  // of a loop the first is enough
  const std::lock_guard lock(mutex);
  const std::string line = kind + text + "\n";
  if (notes_fd >= 0 && noted.insert(line).second) {
    EXPECT_EQ(write(notes_fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
}

Asserted read_notes(int fd) {
  Asserted asserted;
  std::string text;
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, got);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line[0] == 'b')
      asserted.breaking_calls.insert(line.substr(1));
    else
      asserted.kept.insert(line.substr(1));
  return asserted;
}

}  // namespace

Asserted run(const Settings& settings, const std::function<void()>& body) {
  const os::Fd notes(memfd_create("asserted", MFD_CLOEXEC));
  notes_fd = notes.get();
  const std::string shared = "rules-" + std::to_string(getpid());
  fflush(nullptr);
  const pid_t child = fork();
  EXPECT_GE(child, 0);
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
  EXPECT_EQ(waitpid(child, &status, 0), child);
  for (const auto& file : {"-dev0", "-dev1", "-host"})
    unlink((device::Node::default_directory() + "/" + shared + file).c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "the test's process failed, status " << status;
  notes_fd = -1;
  return read_notes(notes.get());
}

namespace {

// Rules whose tests cannot make a call that breaks them in the other one, and why.
const std::map<RuleId, const char*>& kept_otherwise() {
  static std::map<RuleId, const char*> all{
      {RuleId::HostTouch, "broken by an access of the host, and kept by one: no call is part of it"}};
#if defined(__SANITIZE_THREAD__)
  for (const RuleId rule : {RuleId::ReserveNoUc, RuleId::ReserveNoUcSize})
    all[rule] = "no address that is asked for is free, and the call always asks for one";
#endif
  return all;
}

// A test that keeps a rule makes a call that could break it, and that succeeds.
void expect_keeps(const rules::Rule& rule, const Asserted& asserted) {
  if (asserted.kept.empty() && kept_otherwise().count(rule.id) == 0) {
    ADD_FAILURE() << "the test keeps nothing: it calls nothing beyond its fixture";
    return;
  }
  std::set<std::string> made;
  for (const std::string& expression : asserted.kept)
    for (const std::string& call : rules::calls_in_kept(rule, expression)) made.insert(call);
  const std::vector<std::string> breaking = rules::examples(rule).wrong.calls;
  const bool keeps = std::any_of(breaking.begin(), breaking.end(),
                                 [&](const std::string& call) { return made.count(call) != 0; });
  EXPECT_NE(keeps, kept_otherwise().count(rule.id) != 0)
      << rule.name
      << (keeps ? " is kept by a call that can break it, and is on the list of those that are not"
                : " is kept by no call that can break it, as one of these could: " +
                      ::testing::PrintToString(breaking));
}

}  // namespace

void run_test(RuleId rule, Side side, const Settings& settings, const std::function<void()>& body) {
  rule_under_test() = rule;
  const Asserted asserted = run(settings, body);
  if (side == Side::Kept) {
    expect_keeps(rules::get(rule), asserted);
    return;
  }
  EXPECT_FALSE(asserted.breaking_calls.empty()) << "the test breaks nothing";
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
  // NAME function(parameter): ...
  const size_t begin = std::min(std::strlen(rule.name) + 1, message.size());
  note('b', message.substr(begin, message.find('(') - begin));
}

void expect_ok(aclError code, const char* expression, const char* file, int line, bool prepares) {
  if (code != ACL_SUCCESS)
    ADD_FAILURE_AT(file, line) << expression << "\n  returned " << code << ": " << aclGetRecentErrMsg();
  if (!prepares) note('k', expression);
}

void broken_without_a_call() { note('b', ""); }

namespace {

TEST(RuleTest, FailsWithoutAssertionsOfItsOwn) {
  const auto nothing = [] {};
  const auto no_more_than_its_fixture = [] { Memory m; };
  EXPECT_NONFATAL_FAILURE(run_test(RuleId::ArgNull, Side::Broken, {}, nothing), "breaks nothing");
  EXPECT_NONFATAL_FAILURE(run_test(RuleId::ArgNull, Side::Broken, {}, no_more_than_its_fixture),
                          "breaks nothing");
  EXPECT_NONFATAL_FAILURE(run_test(RuleId::ArgNull, Side::Kept, {}, nothing), "keeps nothing");
  EXPECT_NONFATAL_FAILURE(run_test(RuleId::ArgNull, Side::Kept, {}, no_more_than_its_fixture),
                          "keeps nothing");
  const auto something_else = [] { EXPECT_OK(aclrtSetDevice(0)); };
  EXPECT_NONFATAL_FAILURE(run_test(RuleId::MapOffset, Side::Kept, {}, something_else),
                          "kept by no call that can break it");
  const auto what_it_is_about = [] { Memory().map(); };
  run_test(RuleId::MapOffset, Side::Kept, {}, what_it_is_about);
}

// The book and the tests are held against each other: a rule without both of its tests fails here.
TEST(RuleBook, EveryRuleIsBrokenOnceAndKeptOnce) {
  std::map<RuleId, std::set<Side>> tested;
  for (const Registered& test : registry()) tested[test.rule].insert(test.side);
  for (const rules::Rule& rule : rules::all()) {
    // Broken only by a defect of this library, which no test can plant from outside.
    if (rule.id == RuleId::DeviceInternal || rule.is_finding()) continue;
    EXPECT_TRUE(tested[rule.id].count(Side::Broken)) << rule.name << " has no RULE_BROKEN";
    EXPECT_TRUE(tested[rule.id].count(Side::Kept)) << rule.name << " has no RULE_KEPT";
  }
}

}  // namespace
}  // namespace plat::rule_test
