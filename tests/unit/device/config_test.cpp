// SPDX-License-Identifier: Apache-2.0
#include "device/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/units.h"
#include "device/node.h"
#include "os/file.h"
#include "os/process.h"

namespace plat::device {
namespace {

using Values = std::map<std::string, std::string>;

Config read(const Values& values) {
  return read_config([&](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Config, DefaultsAreEightA2WithTheirOwnMemory) {
  const Config config = read({});
  EXPECT_STREQ(config.product->key, "a2");
  EXPECT_EQ(config.device_count, 8u);
  EXPECT_EQ(config.capacity_bytes, 64_GiB);
  EXPECT_EQ(config.visible.size(), 8u);
  EXPECT_FALSE(config.host_access || config.is_private() || config.capacity_was_chosen || config.log_json);
  EXPECT_TRUE(config.complaints.empty());
}

TEST(Config, CapacityFollowsTheProductUnlessChosen) {
  EXPECT_EQ(read({{"PLAT_PRODUCT", "950"}}).capacity_bytes, 128_GiB);
  const Config config = read({{"PLAT_PRODUCT", "A3"}, {"PLAT_CAPACITY", "10 MiB"}});
  EXPECT_STREQ(config.product->key, "a3");
  EXPECT_EQ(config.capacity_bytes, 10_MiB);
  EXPECT_TRUE(config.capacity_was_chosen && config.product_was_chosen);
}

TEST(Config, ServerIsOfASuperPodOnlyOnA3) {
  EXPECT_EQ(read({}).server, kNoServer);
  EXPECT_EQ(read({{"PLAT_PRODUCT", "a3"}}).server, 0u);
  EXPECT_EQ(read({{"PLAT_PRODUCT", "a3"}, {"PLAT_SERVER", "1022"}}).server, 1022u);
  EXPECT_EQ(read({{"PLAT_PRODUCT", "a3"}, {"PLAT_SERVER", "none"}}).server, kNoServer);
  for (const char* wrong : {"1023", "-1", "None", "3x", "99999999999999999999"})
    EXPECT_EQ(read({{"PLAT_PRODUCT", "a3"}, {"PLAT_SERVER", wrong}}).complaints.size(), 1u) << wrong;
}

TEST(Config, WhatMakesNoSenseIsNamed) {
  const Values wrong = {{"PLAT_PRODUCT", "a9"},
                        {"PLAT_DEVICES", "65"},
                        {"PLAT_CAPACITY", "3MiB"},
                        {"PLAT_NODE", "../x"},
                        {"PLAT_HOST_ACCESS", "yes"},
                        {"PLAT_COMMIT", "never"},
                        {"PLAT_LOG", "loud"},
                        {"PLAT_LOG_FORMAT", "xml"},
                        {"PLAT_SEED", "-1"},
                        {"PLAT_KEEP_BACK", "some"},
                        {"PLAT_MAPPING_LIMIT", "1.5"},
                        {"PLAT_QUIET", "2"},
                        {"PLAT_HOST_CAPACITY", "0"},
                        {"PLAT_RULES", "VMM-Map-one-device=off"},
                        {"PLAT_CONFIG", "/nowhere/plat.conf"}};
  const Config config = read(wrong);
  EXPECT_EQ(config.complaints.size(), wrong.size());
  for (const auto& [name, value] : wrong) {
    bool named = false;
    for (const std::string& complaint : config.complaints) named |= complaint.find(name) != std::string::npos;
    EXPECT_TRUE(named) << name;
  }
  EXPECT_STREQ(config.product->key, "a2");  // and nothing of it was taken over
  EXPECT_EQ(config.device_count, 8u);
  EXPECT_EQ(config.node, "default");
}

TEST(Config, VisibleDevicesAreReadAsTheVendorDoes) {
  const auto read_list = [](const char* list) {
    return read({{"PLAT_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", list}});
  };
  EXPECT_EQ(read_list("1,3").visible, (std::vector<uint32_t>{1, 3}));
  const Config wrong = read_list("2,0");
  EXPECT_TRUE(wrong.visible.empty());
  EXPECT_NE(wrong.visible_problem.find("device 0"), std::string::npos);
  EXPECT_TRUE(wrong.complaints.empty());  // the count says so, as on hardware, and nothing else is in the way
}

TEST(Config, NumbersOfTheCardsAreWhatTheUserSays) {
  const Config config = read({{"PLAT_DEVICE_NUMBERS", "ai_core=24, vector_core=48,l2=192MiB"}});
  EXPECT_EQ(config.numbers.ai_cores, 24u);
  EXPECT_EQ(config.numbers.vector_cores, 48u);
  EXPECT_EQ(config.numbers.l2_bytes, 192_MiB);
  EXPECT_FALSE(config.numbers.ai_cpus);
  EXPECT_TRUE(config.complaints.empty());
  for (const char* wrong : {"cores=3", "ai_core", "ai_core=", "ai_core=many"})
    EXPECT_EQ(read({{"PLAT_DEVICE_NUMBERS", wrong}}).complaints.size(), 1u) << wrong;
}

TEST(Config, RulesAreChosenByNameInAnyCase) {
  const Config config = read({{"PLAT_RULES", " vmm-map-whole-handle = error , VMM-Map-one-origin=off,"}});
  ASSERT_EQ(config.rule_choices.size(), 2u);
  EXPECT_EQ(config.rule_choices[0].rule, RuleId::MapPart);
  EXPECT_EQ(config.rule_choices[0].severity, rules::Severity::Error);
  EXPECT_EQ(config.rule_choices[1].severity, rules::Severity::Off);
  EXPECT_TRUE(config.complaints.empty());
}

TEST(Config, AFileGivesWhatTheEnvironmentDoesNot) {
  const std::string path = "/tmp/plat-config-test-" + std::to_string(getpid());
  std::ofstream(path)
      << "# a machine\ndevices = 2\nproduct= 950 # newer\n\ncapacity =64MiB\nnonsense\nspeed = 9\n";
  const Config config = read({{"PLAT_CONFIG", path}, {"PLAT_DEVICES", "3"}, {"PLAT_CAPACITY", ""}});
  EXPECT_EQ(config.device_count, 3u);
  EXPECT_STREQ(config.product->key, "950");
  EXPECT_EQ(config.capacity_bytes, 64_MiB);  // an empty variable is none
  ASSERT_EQ(config.complaints.size(), 2u);
  EXPECT_NE(config.complaints[0].find("line 6"), std::string::npos);
  EXPECT_NE(config.complaints[1].find("'speed'"), std::string::npos);
  unlink(path.c_str());
}

TEST(Config, AnEmptyValueInAFileIsNone) {
  const std::string path = "/tmp/plat-config-test-" + std::to_string(getpid());
  std::ofstream(path) << "node =\ncapacity =\nlog =\n";
  const Config config = read({{"PLAT_CONFIG", path}});
  EXPECT_EQ(config.node, Config{}.node);
  EXPECT_FALSE(config.node.empty());
  EXPECT_TRUE(config.complaints.empty());
  unlink(path.c_str());
}

TEST(Config, HostMemoryIsThatOfTheMachineWithinWhatALedgerHolds) {
  EXPECT_EQ(host_capacity_of(3_GiB + 4096), 3_GiB);
  EXPECT_EQ(host_capacity_of(0), 2_MiB);
  EXPECT_EQ(host_capacity_of(6_TiB), kLargestCapacity);
}

TEST(Config, EverySettingIsDocumented) {
  for (const Setting& setting : settings()) {
    EXPECT_GT(std::string_view(setting.meaning).size(), 10u) << setting.key;
    EXPECT_FALSE(std::string_view(setting.form).empty()) << setting.key;
  }
}

// Somebody who makes our directory first must not keep us from having a machine.
TEST(Directory, ThatBelongsToOthersIsPassedOver) {
  std::string first_name = ::testing::TempDir() + "plat-place-XXXXXX";
  std::string second_name = ::testing::TempDir() + "plat-place-XXXXXX";
  const std::string first = mkdtemp(first_name.data());
  const std::string second = mkdtemp(second_name.data());
  const std::array<const char*, 2> places = {first.c_str(), second.c_str()};
  const std::string own = "/plat-" + std::to_string(os::user_id());
  EXPECT_EQ(Node::default_directory(places), first + own);  // can be made
  EXPECT_FALSE(std::filesystem::exists(first + own));
  std::filesystem::create_directory(first + own);
  std::filesystem::permissions(first + own, std::filesystem::perms::owner_all);  // whatever the umask is
  EXPECT_EQ(Node::default_directory(places), first + own);                       // is ours
  // Writable by others: as good as theirs.
  std::filesystem::permissions(first + own, std::filesystem::perms::all);
  EXPECT_EQ(Node::default_directory(places), second + own);
  std::filesystem::remove(first + own);
  std::filesystem::create_symlink("/", first + own);
  EXPECT_EQ(Node::default_directory(places), second + own);
  std::filesystem::create_symlink("/", second + own);
  EXPECT_EQ(Node::default_directory(places), first + own);  // nothing is left: the error names the first
  std::filesystem::remove_all(first);
  std::filesystem::remove_all(second);
}

TEST(Config, AMisspeltVariableIsRemarkedOnWithTheNearestName) {
  EXPECT_EQ(nearest_variable("PLAT_CAPACTIY"), "PLAT_CAPACITY");
  EXPECT_EQ(nearest_variable("PLAT_DEVICE"), "PLAT_DEVICES");
  EXPECT_EQ(nearest_variable("PLAT_DEVICE_COUNT"), "PLAT_DEVICES");
  EXPECT_EQ(nearest_variable("PLAT_STREAM"), "PLAT_STREAMS");
  EXPECT_EQ(nearest_variable("PLAT_INSPECT_DEPHT"), "PLAT_INSPECT_DEPTH");
  EXPECT_EQ(nearest_variable("PLAT_SOMETHING_OF_OTHERS"), "");
  for (const Setting& known : settings()) {
    std::string name = "PLAT_";
    for (const char* c = known.key; *c != 0; ++c) name += static_cast<char>(toupper(*c));
    EXPECT_EQ(nearest_variable(name), name);
  }

  setenv("PLAT_CAPACTIY", "4MiB", 1);
  const Config config = read_config();
  unsetenv("PLAT_CAPACTIY");
  ASSERT_EQ(config.remarks.size(), 1u);
  EXPECT_NE(config.remarks[0].find("PLAT_CAPACITY"), std::string::npos) << config.remarks[0];
  EXPECT_TRUE(read_config().remarks.empty());
}

TEST(Config, ThePageListsEverySetting) {
  const std::string page = os::read_small_file(PLAT_SOURCE "/docs/howto/configure.md").value_or("");
  for (const Setting& known : settings()) {
    std::string name = "PLAT_";
    std::string option = "--";
    for (const char* c = known.key; *c != 0; ++c) {
      name += static_cast<char>(toupper(*c));
      option += *c == '_' ? '-' : *c;
    }
    EXPECT_NE(page.find(fmt::format("| `{}` | `{}` | `{}`", known.key, name, option)), std::string::npos)
        << known.key;
  }
  for (const Variable& known : other_variables())
    EXPECT_NE(page.find(fmt::format("`{}`", known.name)), std::string::npos) << known.name;
}

// By the sources: a variable that a part reads and nobody lists would be told as a misspelt one.
TEST(Config, EveryVariableThatIsReadIsListed) {
  std::set<std::string> listed;
  for (const Variable& known : other_variables()) listed.insert(known.name);
  for (const Setting& known : settings()) {
    std::string name = "PLAT_";
    for (const char* c = known.key; *c != 0; ++c) name += static_cast<char>(toupper(*c));
    listed.insert(name);
  }
  // Names of macros, in messages.
  listed.insert({"PLAT_POOL_REQUEST_INIT", "PLAT_POOL_SOURCE_OPS_INIT"});
  constexpr const char* kQuoted = "\"PLAT_";
  size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PLAT_SOURCE "/src")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      for (size_t at = line.find(kQuoted); at != std::string::npos; at = line.find(kQuoted, at + 1)) {
        const size_t end = line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
        if (end == std::string::npos || line[end] != '"') continue;
        const std::string name = line.substr(at + 1, end - at - 1);
        if (name == "PLAT_") continue;  // the beginning of any
        EXPECT_TRUE(listed.contains(name)) << entry.path() << ": " << line;
        ++found;
      }
  }
  EXPECT_GT(found, listed.size() / 2);
}

TEST(Config, SettingsOfOtherFoldersComeFromTheFileToo) {
  const std::string path = ::testing::TempDir() + "plat-settings-" + std::to_string(getpid());
  std::ofstream(path) << "streams = eager\nstacks = 1\n";
  setenv("PLAT_CONFIG", path.c_str(), 1);
  EXPECT_EQ(setting("streams"), "eager");
  setenv("PLAT_STREAMS", "pool", 1);
  EXPECT_EQ(setting("streams"), "pool");
  EXPECT_EQ(setting("stacks"), "1");
  unsetenv("PLAT_STREAMS");
  unsetenv("PLAT_CONFIG");
  EXPECT_EQ(setting("stacks"), std::nullopt);
  unlink(path.c_str());
}

}  // namespace
}  // namespace plat::device
