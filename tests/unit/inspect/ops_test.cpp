// SPDX-License-Identifier: Apache-2.0
// The tables of operations and fields: what stands in files must stay where it is.
#include <gtest/gtest.h>

#include <set>

#include "inspect/trace/event.h"

namespace plat::inspect {
namespace {

std::string coded(Op op) {
  std::string letters;
  for (const Field field : info_of(op).fields)
    letters += std::string_view("abshntp")[static_cast<size_t>(kind_of(field))];
  return letters;
}

// Traces of earlier versions are read with these tables.
TEST(Ops, KeepTheirNumbersAndCoding) {
  EXPECT_EQ(static_cast<int>(Op::Thread), 0);
  EXPECT_EQ(static_cast<int>(Op::HostWork), 5);
  EXPECT_EQ(static_cast<int>(Op::aclrtMalloc), 17);
  EXPECT_EQ(static_cast<int>(Op::aclrtMemcpy), 39);
  EXPECT_EQ(static_cast<int>(Op::mstxMark), 105);
  EXPECT_EQ(static_cast<int>(Op::mstxDetach), 124);
  EXPECT_EQ(static_cast<int>(Op::HostWorkEnd), 141);
  EXPECT_EQ(static_cast<int>(Op::DeviceSays), 142);
  EXPECT_EQ(static_cast<int>(Op::FrameName), 143);
  EXPECT_EQ(static_cast<int>(Op::Imported), 144);
  EXPECT_EQ(static_cast<int>(Op::Origin), 145);
  EXPECT_EQ(static_cast<int>(Op::aclrtMemAllocManaged), 146);
  EXPECT_EQ(static_cast<int>(Op::aclrtMemP2PMap), 152);
  EXPECT_EQ(static_cast<int>(Op::aclrtAllocBuf), 153);
  EXPECT_EQ(static_cast<int>(Op::aclrtSnapShotProcessRestore), 160);
  EXPECT_EQ(coded(Op::aclrtAllocBuf), "nna");
  EXPECT_EQ(coded(Op::aclrtReduceAsync), "abnnns");
  EXPECT_EQ(coded(Op::ManagedPrefetchEntry), "annns");
  EXPECT_EQ(coded(Op::DeviceSays), "nnt");
  EXPECT_EQ(coded(Op::FrameName), "nnt");
  EXPECT_EQ(coded(Op::Module), "nnnt");
  EXPECT_EQ(coded(Op::Stack), "np");
  EXPECT_EQ(coded(Op::aclrtHostRegister), "annb");
  EXPECT_EQ(coded(Op::aclrtMemcpy2dAsync), "anbnhhns");
  EXPECT_EQ(coded(Op::aclrtReserveMemAddress), "annbn");
  EXPECT_EQ(coded(Op::aclrtMallocPhysical), "hnnnn");
  EXPECT_EQ(coded(Op::aclrtMemMapSelectedLink), "anb");
  EXPECT_EQ(coded(Op::aclrtMemPoolMallocAsync), "anhs");
  EXPECT_EQ(coded(Op::mstxMemHeapRegister), "nnnanhh");
  EXPECT_EQ(coded(Op::mstxMemRegionsRegister), "nnnnanh");
  EXPECT_EQ(coded(Op::platMstxMemRegionsName), "nnnat");
}

TEST(Ops, NameEachFieldOnceAndTextLast) {
  for (const OpInfo& info : kOps) {
    std::set<Field> seen;
    for (const Field field : info.fields) EXPECT_TRUE(seen.insert(field).second) << info.name;
    for (size_t i = 0; i + 1 < info.fields.size(); ++i) EXPECT_TRUE(is_number(info.fields[i])) << info.name;
  }
}

TEST(Ops, ReadFieldsByName) {
  Event event;
  event.op = Op::aclrtMemcpyAsync;
  event.words = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(event.target(), 1u);
  EXPECT_EQ(event.source(), 2u);
  EXPECT_EQ(event.size(), 3u);
  EXPECT_EQ(event.room(), 4u);
  EXPECT_EQ(event.direction(), 5u);
  EXPECT_EQ(event.stream(), 6u);
  EXPECT_EQ(event.policy(), 0u);  // it has none
  EXPECT_FALSE(has_field(Op::aclrtMemcpyAsync, Field::policy));
}

}  // namespace
}  // namespace plat::inspect
