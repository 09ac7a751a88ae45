// SPDX-License-Identifier: Apache-2.0
// The codes that hardware gives, written down a second time: tests of the rules take the code from the book,
// so a slip of the pen there would go unnoticed.
#include <gtest/gtest.h>

#include "rules/rules.h"

namespace plat::rules {
namespace {

struct Row {
  RuleId rule;
  int older, newer;  // driver generations: A2 and A3, and 950
};

constexpr Row kRows[] = {
    // Arguments, contexts, devices.
    {RuleId::ArgNull, 100000, 100000},
    {RuleId::ArgZeroSize, 100000, 100000},
    {RuleId::ArgReserved, 100000, 100000},
    {RuleId::ArgEnum, 100000, 100000},
    {RuleId::DeviceId, 107001, 107001},
    {RuleId::NoContext, 107002, 107002},
    {RuleId::ProductSupport, 207000, 207000},
    {RuleId::OutOfMemory, 207001, 207001},
    {RuleId::InitRepeated, 100002, 100002},
    {RuleId::FinalizeRepeated, 100037, 100037},
    {RuleId::PeerSelf, 100000, 100000},
    {RuleId::PeerFlags, 200006, 200006},
    {RuleId::MemInfoAttribute, 107016, 107016},
    // Reserve and release.
    {RuleId::ReserveAlignment, 107000, 107000},
    {RuleId::ReserveExpected, 107000, 107000},
    {RuleId::ReserveTaken, 507899, 507899},
    {RuleId::ReserveTooLarge, 207001, 207001},
    {RuleId::ReleaseUnknown, 107000, 107000},
    {RuleId::ReleaseMapped, 507899, 507899},
    // Physical memory.
    {RuleId::PhysicalSize, 507899, 107000},
    {RuleId::PhysicalReserve, 107000, 107000},
    {RuleId::PhysicalAttribute, 100000, 100000},
    {RuleId::PhysicalLocation, 100000, 100000},
    {RuleId::PhysicalHostId, 207000, 207000},
    {RuleId::FreeTooOften, 107000, 107000},
    // Mappings and access.
    {RuleId::MapOffset, 107000, 107000},
    {RuleId::MapOutside, 507899, 107000},
    {RuleId::MapKind, 507899, 507899},
    {RuleId::MapAligned, 507899, 507899},
    {RuleId::MapOverlap, 507899, 507899},
    {RuleId::MapPastEnd, 507899, 507899},
    {RuleId::MapTooLarge, 207001, 107000},
    {RuleId::UnmapUnknown, 507899, 507899},
    {RuleId::UnmapUnknownAddress, 507899, 107000},
    {RuleId::UnmapBusy, 507899, 507899},
    {RuleId::AccessArguments, 107000, 107000},
    {RuleId::AccessFlags, 207000, 207000},
    {RuleId::AccessRange, 507899, 507899},
    {RuleId::AccessUnmapped, 507899, 507899},
    {RuleId::GranularityOption, 207000, 207000},
    {RuleId::RetainUnmapped, 507899, 507899},
    {RuleId::LinkUnsupported, 207021, 207021},
    // Sharing.
    {RuleId::ShareFlags, 107000, 107000},
    {RuleId::ShareTwice, 507899, 507899},
    {RuleId::ShareImported, 507899, 507899},
    {RuleId::ShareType, 107000, 107000},
    {RuleId::ShareFabric, 207000, 207000},
    {RuleId::ShareUnknown, 107017, 107017},
    {RuleId::SharePidCount, 107000, 107000},
    {RuleId::SharePidsZero, 507899, 507899},
    {RuleId::ShareNotExporter, 507899, 507899},
    {RuleId::ShareNoWhitelist, 207006, 207006},
    {RuleId::ShareDenied, 507899, 507899},
    {RuleId::ShareOwnProcess, 507899, 507899},
    {RuleId::IpcArguments, 107000, 107000},
    // Memory in use.
    {RuleId::FreeUnknown, 107000, 107000},
    {RuleId::FreeTwice, 107000, 107000},
    {RuleId::FreeOtherKind, 107000, 107000},
    {RuleId::CopyTooLong, 107000, 107000},
    {RuleId::CopyHole, 507899, 507899},
    {RuleId::CopyHostToHost, 207000, 207000},
    {RuleId::PoolHandle, 507000, 507000},
    {RuleId::PoolExhausted, 507000, 507000},
    {RuleId::HostRegisterOverlap, 507910, 507910},
    {RuleId::HostUnregisterUnknown, 507911, 507911},
};

TEST(RuleBook, CodesAreThoseOfHardware) {
  for (const Row& row : kRows) {
    EXPECT_EQ(get(row.rule).code_v2, row.older) << get(row.rule).name;
    EXPECT_EQ(get(row.rule).code_v3, row.newer) << get(row.rule).name;
  }
}

}  // namespace
}  // namespace plat::rules
