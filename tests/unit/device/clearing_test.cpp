// SPDX-License-Identifier: Apache-2.0
// Memory that a process was clearing when it was stopped.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/units.h"
#include "device/ledger.h"
#include "rules/rules.h"

namespace plat::device {
namespace {

TEST(Clearing, MemoryThatAStoppedProcessClearsIsNotFreeAndTheMessageSaysWhoHasIt) {
  std::string pattern = ::testing::TempDir() + "clearing-XXXXXX";
  const std::string directory = mkdtemp(pattern.data());
  const auto join = [&] {
    LedgerOptions options;
    options.control_path = directory + "/m-dev0";
    options.capacity_bytes = 64_MiB;
    options.product = "a2";
    return std::move(*Ledger::attach(options));
  };
  const pid_t child = fork();
  if (child == 0) {
    auto ledger = join();
    ledger->begin([](PageId, uint32_t) { raise(SIGSTOP); });
    const BlockId block = *ledger->allocate(30, {});
    ledger->for_each_page(block, [&](PageId page) { ledger->page(page).committed = PageState::Taken; });
    ledger->release(block);
    pause();
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));

  auto ledger = join();
  ledger->begin([](PageId, uint32_t) {});
  EXPECT_EQ(ledger->usage().free_bytes, 4_MiB);
  const auto refused = ledger->allocate(10, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().rule, RuleId::OutOfMemory);
  for (const std::string& part :
       {std::string("free 4 MiB"), "60 MiB by pid " + std::to_string(child), std::string("which is stopped")})
    EXPECT_NE(refused.error().detail.find(part), std::string::npos) << refused.error().detail;

  kill(child, SIGCONT);
  EXPECT_TRUE(ledger->allocate(10, {}));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace plat::device
