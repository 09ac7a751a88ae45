// SPDX-License-Identifier: Apache-2.0
// What a broken rule looks like to people and to tools.
#include "device/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "os/file.h"

namespace plat::device::report {
namespace {

class Report : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = "/tmp/plat-report-test-" + std::to_string(getpid());
    config_.log_file = path_;
    configure(config_);
  }
  void TearDown() override {
    unlink(path_.c_str());
    configure({});
  }
  std::vector<std::string> lines() const {
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  std::string path_;
  device::Config config_;
};

// Enough of a JSON reader for flat objects: the text of a field, escapes resolved; "?" when the line is no
// such object.
std::string field(const std::string& line, const std::string& wanted) {
  size_t at = 0;
  const auto text = [&]() -> std::string {
    std::string out;
    if (line[at++] != '"') return "?";
    while (at < line.size() && line[at] != '"') {
      if (line[at] != '\\') {
        out += line[at++];
      } else if (line[at + 1] == 'u') {
        out += static_cast<char>(std::stoi(line.substr(at + 2, 4), nullptr, 16));
        at += 6;
      } else {
        out += line[at + 1];
        at += 2;
      }
    }
    ++at;
    return out;
  };
  if (line.empty() || line[at++] != '{' || line.back() != '}') return "?";
  std::string found = "?";
  while (at < line.size()) {
    const std::string key = text();
    if (line[at++] != ':') return "?";
    std::string value;
    if (line[at] == '"')
      value = text();
    else
      while (at < line.size() && line[at] != ',' && line[at] != '}') value += line[at++];
    if (key == wanted) found = value;
    const char next = at < line.size() ? line[at++] : '?';
    if (next == '}') return at == line.size() ? found : "?";
    if (next != ',') return "?";
  }
  return "?";
}

TEST_F(Report, AFailureGivesItsCodeAndTeaches) {
  const CallScope scope("aclrtMapMem");
  EXPECT_EQ(raise(Error{RuleId::MapOffset, "offset", "offset is 7"}), 107000);
  const std::string message = recent();
  EXPECT_EQ(message.rfind("VMM-Map-offset-zero aclrtMapMem(offset): offset is 7. ", 0), 0u) << message;
  EXPECT_NE(message.find(rules::get(RuleId::MapOffset).fix), std::string::npos);
  EXPECT_EQ(recent_rule()->id, RuleId::MapOffset);
}

TEST_F(Report, TheCodeFollowsTheDriverGeneration) {
  EXPECT_EQ(raise(Error{RuleId::MapOutside, "", ""}), 507899);
  config_.product = device::find_product("950");
  configure(config_);
  EXPECT_EQ(raise(Error{RuleId::MapOutside, "", ""}), 107000);
}

TEST_F(Report, AMessageStaysWhereItIsThroughTheNextFailures) {
  config_.log_level = device::LogLevel::Off;
  configure(config_);
  std::vector<const char*> places;
  for (int i = 0; i < 16; ++i) {
    raise_for("aclrtMapMem",
              {RuleId::MapOffset, "offset", fmt::format("a long text with the number {}.", i)});
    places.push_back(recent());
  }
  for (int i = 0; i < 16; ++i)
    EXPECT_NE(std::string(places[static_cast<size_t>(i)]).find(fmt::format("number {}.", i)),
              std::string::npos)
        << places[static_cast<size_t>(i)];
}

// Their code and their text are those of any failure; a log that is searched for errors has none.
TEST_F(Report, FailuresThatProgramsProvokeAndHandleAreNoErrorsInTheLog) {
  const struct {
    const char* function;
    RuleId rule;
  } kProbes[] = {{"aclrtGetDevice", RuleId::NoContext},
                 {"aclrtGetCurrentContext", RuleId::NoContext},
                 {"aclInit", RuleId::InitRepeated},
                 {"aclFinalize", RuleId::FinalizeRepeated},
                 {"aclrtMalloc", RuleId::OutOfMemory}};
  for (const auto& probe : kProbes) {
    EXPECT_EQ(raise_for(probe.function, {probe.rule, "x", "a detail"}), rules::get(probe.rule).code_v2);
    EXPECT_EQ(recent_rule(), &rules::get(probe.rule));
  }
  EXPECT_EQ(lines(), std::vector<std::string>{});

  config_.log_level = device::LogLevel::Info;
  config_.log_json = true;
  configure(config_);
  for (const auto& probe : kProbes) raise_for(probe.function, {probe.rule, "x", "a detail"});
  ASSERT_EQ(lines().size(), std::size(kProbes));
  for (const std::string& line : lines()) EXPECT_EQ(field(line, "severity"), "info");
}

TEST_F(Report, AnExpectedFailureIsAnErrorForWhoSaysSo) {
  config_.rule_choices = {{RuleId::OutOfMemory, rules::Severity::Error}};
  configure(config_);
  raise_for("aclrtMalloc", {RuleId::OutOfMemory, "size", "a detail"});
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(lines()[0].find("plat error: MEM-Capacity"), 0u) << lines()[0];
  raise_for("aclrtMalloc", {RuleId::NoContext, "", "a detail"});
  EXPECT_EQ(lines().size(), 2u);
}

TEST_F(Report, TheMostRecentFailureIsTheThreadsOwn) {
  raise(Error{RuleId::MapOffset, "", "here"});
  std::thread([] {
    EXPECT_STREQ(recent(), "");
    EXPECT_EQ(recent_rule(), nullptr);
    raise(Error{RuleId::ArgNull, "", "there"});
  }).join();
  EXPECT_NE(std::string(recent()).find("here"), std::string::npos);
}

TEST_F(Report, RepetitionsAreCountedAndSaidAtPowersOfTen) {
  for (int i = 0; i < 1234; ++i) raise(Error{RuleId::UnmapBusy, "virPtr", std::to_string(i)});
  const auto said = lines();
  ASSERT_EQ(said.size(), 4u);  // the first, the 10th, the 100th, the 1000th
  EXPECT_EQ(said[0].rfind("plat error: VMM-Unmap-idle ", 0), 0u);
  EXPECT_EQ(said[1].rfind("plat error: 10 times by now: VMM-Unmap-idle ", 0), 0u) << said[1];
  EXPECT_EQ(said[3].rfind("plat error: 1000 times by now: VMM-Unmap-idle ", 0), 0u) << said[3];
}

TEST_F(Report, JsonIsOneObjectALineWhateverTheTextHolds) {
  config_.log_json = true;
  configure(config_);
  const CallScope scope("aclrtFreePhysical");
  const std::string nasty = "a \"quote\", a \\ slash,\na line and a \t tab";
  raise(Error{RuleId::HandleStale, "handle", nasty});
  raise(Error{RuleId::HandleStale, "handle", "again"});
  notice("hello");
  const auto said = lines();
  ASSERT_EQ(said.size(), 3u);  // tools count for themselves
  EXPECT_EQ(field(said[0], "severity"), "error");
  EXPECT_EQ(field(said[0], "rule"), "VMM-Handle-live");
  EXPECT_EQ(field(said[0], "code"), "107017");
  EXPECT_EQ(field(said[0], "function"), "aclrtFreePhysical");
  EXPECT_EQ(field(said[0], "parameter"), "handle");
  EXPECT_EQ(field(said[0], "detail"), nasty);
  EXPECT_EQ(field(said[0], "pid"), std::to_string(getpid()));
  EXPECT_EQ(field(said[1], "detail"), "again");
  EXPECT_EQ(field(said[2], "text"), "hello");
}

TEST_F(Report, ASoftRuleWarnsFailsOrIsSilent) {
  const Error breach{RuleId::MapPart, "size", "half"};
  EXPECT_TRUE(soft(breach));
  EXPECT_EQ(lines().size(), 1u);
  config_.rule_choices = {{RuleId::MapPart, rules::Severity::Off}};
  configure(config_);
  EXPECT_TRUE(soft(breach));
  EXPECT_EQ(lines().size(), 1u);
  config_.rule_choices = {{RuleId::MapPart, rules::Severity::Error}};
  configure(config_);
  const auto failed = soft(breach);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().rule, RuleId::MapPart);
}

TEST_F(Report, LevelsAreKept) {
  config_.log_level = device::LogLevel::Off;
  configure(config_);
  raise(Error{RuleId::ReleaseMapped, "", ""});
  notice("not even this");
  EXPECT_TRUE(lines().empty());
  config_.log_level = device::LogLevel::Error;
  configure(config_);
  EXPECT_TRUE(soft(Error{RuleId::ReserveBeyond, "", ""}));
  EXPECT_TRUE(lines().empty());
  info("only when asked for");
  EXPECT_TRUE(lines().empty());
}

}  // namespace
}  // namespace plat::device::report
