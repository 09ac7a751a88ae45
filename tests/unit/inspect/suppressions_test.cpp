// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/suppressions.h"

#include <gtest/gtest.h>

namespace plat::inspect {
namespace {

Json finding(const char* rule, const char* frame) {
  const Json stack = Json::array({Json{{"text", frame}, {"function", "leak()"}}});
  return {{"rule", rule}, {"site", {{"stack", stack}}}, {"objects", Json::array()}};
}

TEST(Suppressions, CoverByRuleAndFrame) {
  Suppressions known;
  ASSERT_EQ(known.add("# known\nINSP-Leak-* *vendor.cpp:*\n"), 0u);
  EXPECT_TRUE(known.covers(finding("INSP-Leak-stream", "init at vendor.cpp:7")));
  EXPECT_FALSE(known.covers(finding("INSP-Leak-stream", "init at main.cpp:7")));
  EXPECT_FALSE(known.covers(finding("INSP-Free-twice", "init at vendor.cpp:7")));
  EXPECT_TRUE(known.unused().empty());
}

TEST(Suppressions, SayWhichLineMakesNoSenseAndWhichCoveredNothing) {
  Suppressions known;
  EXPECT_EQ(known.add("INSP-Free-twice\nINSP-Fre-twice\n"), 2u);
  EXPECT_EQ(known.unused().size(), 1u);
}

TEST(Suppressions, TheLineThatIsProposedCoversTheFinding) {
  const Json one = finding("INSP-Leak-event", "leak() at main.cpp:3");
  Suppressions known;
  ASSERT_EQ(known.add(suppression_for(one)), 0u);
  EXPECT_TRUE(known.covers(one));
}

}  // namespace
}  // namespace plat::inspect
