// SPDX-License-Identifier: Apache-2.0
#include "os/environment.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace plat::os {
namespace {

TEST(Environment, ShowsWhatIsSet) {
  setenv("PLAT_TEST_COLOUR", "blue=green", 1);
  EXPECT_EQ(variable("PLAT_TEST_COLOUR"), "blue=green");
  const auto names = variables_with("PLAT_TEST_");
  EXPECT_EQ(std::count(names.begin(), names.end(), "PLAT_TEST_COLOUR"), 1);
  unsetenv("PLAT_TEST_COLOUR");
  EXPECT_EQ(variable("PLAT_TEST_COLOUR"), std::nullopt);
}

bool calls_getenv(const std::string& line) {
  constexpr std::string_view kName = "getenv";
  for (size_t at = line.find(kName); at != std::string::npos; at = line.find(kName, at + 1)) {
    const bool whole = at == 0 || (std::isalpha(line[at - 1]) == 0 && line[at - 1] != '_');
    const size_t after = line.find_first_not_of(' ', at + kName.size());
    if (whole && after != std::string::npos && line[after] == '(') return true;
  }
  return false;
}

// Every other way to read it would trust the caller of a setuid program.
TEST(Environment, IsReadThroughOneDoor) {
  EXPECT_TRUE(calls_getenv("const char* text = std::getenv (name);"));
  EXPECT_FALSE(calls_getenv("secure_getenv(name); getenvironment()"));
  for (const char* folder : {"/src", "/include"}) {
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(std::string(PLAT_SOURCE) + folder)) {
      if (!file.is_regular_file()) continue;
      std::ifstream lines(file.path());
      for (std::string line; std::getline(lines, line);)
        EXPECT_TRUE(!calls_getenv(line) || line.find("getauxval(AT_SECURE)") != std::string::npos)
            << file.path() << ": " << line;
    }
  }
}

// A copy of this program that belongs to another user, who lends it his rights. Only root can make one.
TEST(Environment, OfAProgramWithMoreRightsThanItsCallerIsEmpty) {
  if (std::getenv("PLAT_TEST_LENT") != nullptr) {
    if (geteuid() == getuid()) _exit(0);  // a mount or a container that lends no rights
    EXPECT_EQ(variable("PLAT_TEST_LENT"), std::nullopt);
    EXPECT_TRUE(variables_with("PLAT_TEST_").empty());
    _exit(HasFailure() ? 1 : 0);  // a search for leaks may not look into a process of another user
  }
  if (geteuid() != 0) return;
  std::string pattern = "/var/tmp/plat-lent-XXXXXX";
  const std::string directory = mkdtemp(pattern.data());
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  const std::string copy = directory + "/program";
  std::filesystem::copy_file("/proc/self/exe", copy);
  ASSERT_EQ(chown(copy.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("PLAT_TEST_LENT", "1", 1);
    execl(copy.c_str(), "program", "--gtest_filter=Environment.OfAProgram*", nullptr);
    _exit(9);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace plat::os
