// SPDX-License-Identifier: Apache-2.0
// Memory of other servers: what the recorder says of its origin is told of the handle.
#include <gtest/gtest.h>

#include "made_up_trace.h"

namespace plat::inspect::test {
namespace {

TEST(Origin, IsOfTheNextImportOfTheSameThread) {
  MadeUpTrace trace;
  constexpr uint64_t kFabric = 2, kNumber = 1;
  trace.apply(Op::Origin, {3}, "", 1)
      .apply(Op::Origin, {5}, "", 2)
      .apply(Op::aclrtMemImportFromShareableHandleV2, {0x100, kFabric}, "", 1)
      .apply(Op::aclrtMemImportFromShareableHandleV2, {0x200, kFabric}, "", 2)
      .apply(Op::aclrtMemImportFromShareableHandleV2, {0x300, kNumber}, "", 1)
      .end();
  ASSERT_EQ(trace.count(RuleId::LeakImport), 3u);
  std::string details;
  for (const Finding& finding : trace.findings()) details += finding.detail + "\n";
  EXPECT_NE(details.find("0x100 on memory of server 3"), std::string::npos) << details;
  EXPECT_NE(details.find("0x200 on memory of server 5"), std::string::npos) << details;
  EXPECT_NE(details.find("0x300 was never"), std::string::npos) << details;
}

}  // namespace
}  // namespace plat::inspect::test
