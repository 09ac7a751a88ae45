// SPDX-License-Identifier: Apache-2.0
// The compiler has checked layouts and enumerators; here the codes, which C does not count as constants.
#include <gtest/gtest.h>

#include "layout_checks.h"

TEST(Layout, CodesHaveTheirDocumentedValues) {
  EXPECT_EQ(layout_checks_c(), 0);
  EXPECT_EQ(layout_checks_cpp(), 0);
}
