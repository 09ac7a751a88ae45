// SPDX-License-Identifier: Apache-2.0
// Reserving and releasing addresses: every rule broken and kept.
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// Where the addresses of device memory begin, 16 TiB.
constexpr uint64_t kWindow = 0x100000000000;

RULE_BROKEN(ReserveAlignment) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 2_MiB, nullptr, 0));
  EXPECT_EQ(va, nullptr);
}
RULE_KEPT(ReserveAlignment) {
  EXPECT_EQ(reinterpret_cast<uint64_t>(reserve(6_MiB)) % 2_MiB, 0u);
  EXPECT_EQ(reinterpret_cast<uint64_t>(reserve(2_GiB)) % 1_GiB, 0u);
}

RULE_BROKEN(ReserveExpected) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, at(kWindow + 64_GiB + 4096), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 6_MiB, 0, at(kWindow + 64_GiB + 2_MiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 600_MiB, 0, at(kWindow + 64_GiB + 512_MiB), 0));
}
#ifndef __SANITIZE_THREAD__
RULE_KEPT(ReserveExpected) {
  EXPECT_EQ(reserve(6_MiB, at(kWindow + 64_GiB + 8_MiB)), at(kWindow + 64_GiB + 8_MiB));
  EXPECT_EQ(reserve(600_MiB, at(kWindow + 66_GiB)), at(kWindow + 66_GiB));
}
RULE_KEPT(ReserveWindow) { EXPECT_NE(reserve(2_MiB, at(kWindow + 100_GiB)), nullptr); }
RULE_BROKEN(ReserveTaken) {
  void* taken = reserve(2_MiB);
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, taken, 0));
}
RULE_KEPT(ReserveTaken) {
  void* va = at(kWindow + 100_GiB);
  EXPECT_EQ(reserve(2_MiB, va), va);
  EXPECT_OK(aclrtReleaseMemAddress(va));
  EXPECT_EQ(reserve(2_MiB, va), va);
}
RULE_KEPT(ReserveNoUc, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, at(40_TiB), 0));
  EXPECT_OK(aclrtReleaseMemAddress(va));
}
RULE_KEPT(ReserveNoUcSize, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_OK(aclrtReserveMemAddressNoUCMemory(&va, 2_GiB, 0, at(41_TiB), 0));
}
RULE_BROKEN(ReserveBeyond, {"PLAT_RULES", "VMM-Reserve-beyond-window=error"}) {
  void* va = nullptr;
  int reserved = 0;
  while (aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0) == ACL_SUCCESS) ++reserved;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0));
  EXPECT_GE(reserved, 60);
  EXPECT_LE(reserved, 64);
}
RULE_KEPT(ReserveBeyond) {
  void* va = reserve(128_GiB);
  EXPECT_OK(aclrtReleaseMemAddress(va));
  EXPECT_NE(reserve(128_GiB), nullptr);

  // Unless the user wants it otherwise, more is a warning.
  for (int i = 0; i < 160; ++i) EXPECT_NE(reserve(128_GiB), nullptr);  // 20 TiB
}
#else
// Under ThreadSanitizer no address that is asked for is free. A call that keeps its own rule is refused by
// that of taken addresses, which comes behind. The first tests of a rule in this file are those that the book
// shows.
void expect_gets_as_far_as_its_address(aclError code) {
  const rules::Rule& taken = rules::get(RuleId::ReserveTaken);
  EXPECT_EQ(code, taken.code_v2);
  EXPECT_EQ(std::string(aclGetRecentErrMsg()).rfind(taken.name, 0), 0u) << aclGetRecentErrMsg();
}
RULE_KEPT(ReserveExpected) {
  void* va = reserve(6_MiB);
  EXPECT_NE(va, nullptr);
  expect_gets_as_far_as_its_address(aclrtReserveMemAddress(&va, 6_MiB, 0, at(kWindow + 64_GiB + 8_MiB), 0));
}
RULE_KEPT(ReserveWindow) {
  void* va = reserve(2_MiB);
  EXPECT_NE(va, nullptr);
  expect_gets_as_far_as_its_address(aclrtReserveMemAddress(&va, 2_MiB, 0, at(kWindow + 100_GiB), 0));
}
RULE_BROKEN(ReserveTaken) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, at(kWindow + 100_GiB), 0));
}
RULE_KEPT(ReserveTaken) {
  void* va = reserve(2_MiB);
  EXPECT_OK(aclrtReleaseMemAddress(va));
  EXPECT_NE(reserve(2_MiB), nullptr);
}
RULE_BROKEN(ReserveBeyond) { broken_without_a_call(); }  // there is no window to fill
RULE_KEPT(ReserveBeyond) { EXPECT_NE(reserve(128_GiB), nullptr); }
RULE_KEPT(ReserveNoUc, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  expect_gets_as_far_as_its_address(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, at(40_TiB), 0));
}
RULE_KEPT(ReserveNoUcSize, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  expect_gets_as_far_as_its_address(aclrtReserveMemAddressNoUCMemory(&va, 2_GiB, 0, at(41_TiB), 0));
}
#endif

RULE_BROKEN(ReserveWindow) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, at(2_MiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, at(24_TiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 4_MiB, 0, at(UINT64_MAX - 4_MiB + 1), 0));
}
RULE_BROKEN(ReserveTooLarge) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 128_GiB + 1, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, SIZE_MAX, 0, nullptr, 0));
}
RULE_KEPT(ReserveTooLarge) { EXPECT_NE(reserve(128_GiB), nullptr); }

RULE_BROKEN(ReserveNoUc, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, at(128_TiB), 0));
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 2_GiB, 0, at(127_TiB + 1023_GiB), 0));
}
RULE_BROKEN(ReserveNoUcSize, {"PLAT_PRODUCT", "a3"}) {
  void* va = nullptr;
  EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 2_MiB, 0, at(40_TiB), 0));
}

RULE_BROKEN(OutOfAddresses) {
  // Not by RLIMIT_AS: a sanitizer that runs with us needs addresses of its own. A process has 128 TiB.
  void* va = nullptr;
  for (int i = 0; i < 1024 && aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0) == ACL_SUCCESS; ++i) {
  }
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 128_GiB, 0, nullptr, 0));
}
RULE_KEPT(OutOfAddresses) { EXPECT_NE(reserve(4_GiB), nullptr); }

RULE_BROKEN(ReleaseUnknown) {
  Memory m;
  int on_stack = 0;
  EXPECT_BREAKS(aclrtReleaseMemAddress(offset(m.va, 2_MiB)));
  EXPECT_BREAKS(aclrtReleaseMemAddress(&on_stack));
  EXPECT_BREAKS(aclrtReleaseMemAddress(at(UINT64_MAX)));
  EXPECT_OK(aclrtReleaseMemAddress(m.va));
  EXPECT_BREAKS(aclrtReleaseMemAddress(m.va));
}
RULE_KEPT(ReleaseUnknown) { EXPECT_OK(aclrtReleaseMemAddress(reserve(3_GiB))); }

RULE_BROKEN(ReleaseMapped) {
  Memory m;
  m.map();
  EXPECT_BREAKS(aclrtReleaseMemAddress(m.va));
  EXPECT_OK(aclrtUnmapMem(m.va));
}
RULE_KEPT(ReleaseMapped) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtUnmapMem(m.va));
  EXPECT_OK(aclrtReleaseMemAddress(m.va));
  EXPECT_OK(aclrtFreePhysical(m.handle));
}

}  // namespace
}  // namespace plat::rule_test
