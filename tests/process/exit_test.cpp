// SPDX-License-Identifier: Apache-2.0
// Calls that come after main: from destructors of static objects and from what atexit runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "support/machine.h"

namespace plat::test {
namespace {

aclrtDrvMemHandle made_up(uintptr_t value) {
  return reinterpret_cast<aclrtDrvMemHandle>(value);  // NOLINT(performance-no-int-to-ptr)
}

std::string said_in_main;

void call_after_main() {
  // The objects of the main thread are gone by now; the text of its last failure is not.
  if (said_in_main != aclGetRecentErrMsg()) _exit(2);
  for (const uintptr_t value : {uintptr_t{0x50}, uintptr_t{0x123456789ABCD50}}) {
    if (aclrtFreePhysical(made_up(value)) == ACL_SUCCESS) _exit(3);
    if (std::string(aclGetRecentErrMsg()).find("aclrtFreePhysical") == std::string::npos) _exit(4);
  }
}

TEST(AfterMain, FailedCallExplainsItself) {
  EXPECT_EXIT(
      {
        const Machine machine;
        EXPECT_EQ(std::atexit(call_after_main), 0);
        EXPECT_NE(aclrtFreePhysical(made_up(0x1234550)), ACL_SUCCESS);
        said_in_main = aclGetRecentErrMsg();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(AfterMain, TextOfAThreadIsItsOwnAndGoesWithIt) {
  const Machine machine;
  EXPECT_NE(aclrtFreePhysical(made_up(0x50)), ACL_SUCCESS);
  const std::string mine = aclGetRecentErrMsg();
  std::thread([&] {
    EXPECT_STREQ(aclGetRecentErrMsg(), "");
    EXPECT_NE(aclrtUnmapMem(nullptr), ACL_SUCCESS);
    EXPECT_NE(aclGetRecentErrMsg(), mine);
  }).join();
  EXPECT_EQ(aclGetRecentErrMsg(), mine);
}

}  // namespace
}  // namespace plat::test
