// SPDX-License-Identifier: Apache-2.0
// A copy that is under way keeps its mapping.
#include "rules/memory_fixture.h"
#include "support/held_copy.h"

namespace plat::rule_test {
namespace {

using test::HeldCopy;

RULE_BROKEN(UnmapBusy) {
  Memory m;
  m.map();
  HeldCopy copy(m.va, 4096, HeldCopy::Kept::Counted);
  EXPECT_BREAKS(aclrtUnmapMem(m.va));
  EXPECT_OK(copy.let_go());
  EXPECT_OK(aclrtUnmapMem(m.va));
}
RULE_KEPT(UnmapBusy) {
  Memory m;
  m.map();
  char byte = 1;
  EXPECT_OK(aclrtMemcpy(m.va, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_OK(aclrtUnmapMem(m.va));
}

}  // namespace
}  // namespace plat::rule_test
