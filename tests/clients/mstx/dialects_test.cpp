// SPDX-License-Identifier: Apache-2.0
// The known clients through the broker to a tool that reads every field it gets, watched by a memory checker.

#include "clients/mstx/run.h"

namespace plat::mstx::test {
namespace {

void expect_clean_dialects(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.count("a regions_register none type 0 count 1 handles no size 64"), 9);
  EXPECT_EQ(outcome.count("a regions_unregister 1 by pointer"), 9);
  EXPECT_EQ(outcome.count("a regions_register heap type 0 count 2 handles yes size 64"), 3);
  EXPECT_EQ(outcome.count("a regions_unregister 2 by handle"), 3);
  EXPECT_EQ(outcome.count("a permissions_assign 4"), 3);
  // The domain that a client creates at every call is one domain.
  EXPECT_EQ(outcome.count("a domain_create"), 5);
}

TEST(MstxDialectPrograms, AreHeardWithTheirUnsetFieldsEmpty) {
  expect_clean_dialects(run({PROGRAM_DIR "/mstx_dialects"}, {{"MSTX_INJECTION_PATH", tool("a")}}));
}

TEST(MstxDialectPrograms, RunWithNobodyThere) {
  EXPECT_EQ(run({PROGRAM_DIR "/mstx_dialects"}, {}).status, 0);
}

// A sanitizer and valgrind do not run in one process.
TEST(MstxDialectPrograms, NoUnsetFieldIsUsed) {
  if (std::string(SANITIZE) != "") return;
  const std::vector<std::string> command = {"valgrind", "-q", "--error-exitcode=9", "--leak-check=no",
                                            PROGRAM_DIR "/mstx_dialects"};
  expect_clean_dialects(run(command, {{"MSTX_INJECTION_PATH", tool("a")}}));
  EXPECT_EQ(run(command, {}).status, 0);
  EXPECT_EQ(run(command, {{"PLAT_MSTX_REMEMBER", "1"}}).status, 0);
}

}  // namespace
}  // namespace plat::mstx::test
