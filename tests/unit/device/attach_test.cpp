// SPDX-License-Identifier: Apache-2.0
// Joining a machine whose files were treated badly, or with limits that are in the way.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/units.h"
#include "device/bank.h"
#include "device/ledger.h"
#include "device/report.h"

namespace plat::device {
namespace {

class Attaching : public ::testing::Test {
 protected:
  Attaching() {
    std::string pattern = ::testing::TempDir() + "attach-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    options_.control_path = directory_ + "/m-dev0";
    options_.capacity_bytes = 64_MiB;
    options_.product = "a2";
  }
  ~Attaching() override { std::filesystem::remove_all(directory_); }

  std::string refusal(RuleId rule) const {
    const auto refused = Ledger::attach(options_);
    EXPECT_FALSE(refused);
    if (refused) return "";
    EXPECT_EQ(refused.error().rule, rule);
    return refused.error().detail;
  }

  std::string directory_;
  LedgerOptions options_;
};

// The expectations of a child fail here.
void in_a_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Whoever believed it would map another length of memory than there is.
TEST_F(Attaching, AHeaderThatContradictsItselfIsRefused) {
  const auto ledger = Ledger::attach(options_);
  ASSERT_TRUE(ledger);
  std::fstream file(options_.control_path, std::ios::in | std::ios::out | std::ios::binary);
  const auto write = [&](uint64_t capacity_bytes) {
    file.seekp(offsetof(LedgerHeader, capacity_bytes));
    file.write(reinterpret_cast<const char*>(&capacity_bytes), sizeof capacity_bytes);
    file.flush();
  };
  for (const uint64_t wrong : {uint64_t{0}, 62_MiB, 64_MiB + 1, 66_MiB, UINT64_MAX}) {
    write(wrong);
    EXPECT_NE(refusal(RuleId::DeviceOpen).find("contradicts itself"), std::string::npos);
  }
  write(64_MiB);
  EXPECT_TRUE(Ledger::attach(options_));
}

TEST_F(Attaching, AFileThatWasCutShortIsRefusedWhileSomebodyUsesIt) {
  for (const off_t size : {0, 4096}) {
    auto ledger = Ledger::attach(options_);
    ASSERT_TRUE(ledger);
    ASSERT_EQ(truncate(options_.control_path.c_str(), size), 0);
    const std::string told = refusal(RuleId::DeviceOpen);
    EXPECT_NE(told.find("cut to " + std::to_string(size)), std::string::npos) << told;
    EXPECT_NE(told.find(size == 0 ? "another process uses it" : fmt::format("pid {} uses it", getpid())),
              std::string::npos)
        << told;
    ledger->reset();
    EXPECT_TRUE(Ledger::attach(options_));  // nobody does: it is made anew
  }
}

TEST_F(Attaching, ADataFileThatWasReplacedIsRefused) {
  options_.data_path = directory_ + "/data";
  const auto ledger = Ledger::attach(options_);
  ASSERT_TRUE(ledger);
  EXPECT_TRUE(Ledger::attach(options_));
  std::filesystem::rename(options_.data_path, options_.data_path + ".old");
  EXPECT_NE(refusal(RuleId::DeviceOpen).find("removed or replaced"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options_.data_path));
  std::ofstream(options_.data_path) << "another";
  std::filesystem::permissions(options_.data_path, std::filesystem::perms(0600));
  EXPECT_NE(refusal(RuleId::DeviceOpen).find("removed or replaced"), std::string::npos);
}

TEST_F(Attaching, RemovingTheControlFileOfALivingMachineIsToldOnce) {
  Config config;
  config.log_file = directory_ + "/log";
  report::configure(config);
  const auto ledger = Ledger::attach(options_);
  ASSERT_TRUE(ledger);
  (*ledger)->begin([](PageId, uint32_t) {});
  EXPECT_EQ((*ledger)->usage().free_bytes, 64_MiB);
  EXPECT_FALSE(std::filesystem::exists(config.log_file));
  std::filesystem::remove(options_.control_path);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*ledger)->usage().free_bytes, 64_MiB);
  report::configure({});
  std::ifstream lines(config.log_file);
  std::string line;
  EXPECT_TRUE(std::getline(lines, line));
  EXPECT_NE(line.find("was removed while this process uses it"), std::string::npos) << line;
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(Attaching, ALimitOnFilesIsNamed) {
  in_a_child([&] {
    const rlimit limit{16_MiB, 16_MiB};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    EXPECT_NE(refusal(RuleId::DeviceLimits).find("ulimit -f"), std::string::npos);
  });
}

// As under valgrind, or after ulimit -v; not by that limit, because a sanitizer needs addresses of its own.
TEST_F(Attaching, ALackOfAddressesIsNamed) {
  in_a_child([&] {
    options_.capacity_bytes = 1_TiB;
    for (uint64_t size_bytes = 64_TiB; size_bytes >= 256_GiB; size_bytes /= 2)
      while (mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
             MAP_FAILED) {
      }
    const auto refused = Bank::open(options_, {});
    EXPECT_FALSE(refused);
    if (refused) return;
    EXPECT_EQ(refused.error().rule, RuleId::DeviceLimits) << refused.error().detail;
    EXPECT_NE(refused.error().detail.find("ulimit -v"), std::string::npos) << refused.error().detail;
  });
}

}  // namespace
}  // namespace plat::device
