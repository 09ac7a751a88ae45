// SPDX-License-Identifier: Apache-2.0
// Every test starts with no tool and nothing remembered, and leaves it so.
#pragma once

#include <gtest/gtest.h>

#include "unit/mstx/fake_tool.h"

#include "support/mstx_words.h"

namespace plat::mstx::test {

class MstxTest : public testing::Test {
 protected:
  void SetUp() override {
    ToolA::reset();
    ToolB::reset();
  }
  void TearDown() override {
    let_all_go();
    platMstxRemember(0);
    EXPECT_EQ(ToolA::books.mistakes, std::vector<std::string>());
    EXPECT_EQ(ToolB::books.mistakes, std::vector<std::string>());
  }

  static void let_all_go() {
    platMstxToolInfo_t tools[PLAT_MSTX_TOOLS_MAX] = {};
    for (auto& tool : tools) tool.structSize = sizeof(tool);
    uint32_t count = 0;
    ASSERT_EQ(platMstxListTools(tools, PLAT_MSTX_TOOLS_MAX, &count), PLAT_MSTX_OK);
    for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(platMstxDetach(tools[i].id), PLAT_MSTX_OK);
  }

  template <class Tool>
  static platMstxToolId_t attach(const char* name = "fake") {
    platMstxToolId_t id = 0;
    EXPECT_EQ(platMstxAttachFunction(Tool::init, name, &id), PLAT_MSTX_OK);
    return id;
  }

  static const void* at(uint64_t address) { return reinterpret_cast<const void*>(address); }

  static mstxMemHeapHandle_t add_heap(mstxDomainHandle_t domain, uint64_t start, uint64_t size) {
    return mstx_words::heap(at(start), size, domain);
  }
  static mstxMemRegionHandle_t add_region(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, uint64_t start,
                                          uint64_t size) {
    return mstx_words::region(heap, at(start), size, domain);
  }
  static mstxMemRegionRef_t by_handle(mstxMemRegionHandle_t handle) { return mstx_words::by_handle(handle); }
  static mstxMemRegionRef_t by_pointer(uint64_t start) { return mstx_words::by_pointer(at(start)); }
  static void drop_region(mstxDomainHandle_t domain, mstxMemRegionRef_t ref) {
    mstx_words::unregister(ref, domain);
  }
  static void assign(mstxDomainHandle_t domain, mstxMemRegionRef_t ref, uint32_t flags) {
    mstx_words::allow(ref, flags, domain);
  }

  // As if nobody were there: no handle comes back, and the place for one is left as it was.
  static void expect_no_handles() {
    EXPECT_EQ(mstxDomainCreateA("d"), nullptr);
    EXPECT_EQ(add_heap(nullptr, 0x1000, 0x1000), nullptr);
    const auto before = reinterpret_cast<mstxMemRegionHandle_t>(0x1234);
    EXPECT_EQ(mstx_words::region(nullptr, at(0x1000), 16, nullptr, before), before);
  }
};

}  // namespace plat::mstx::test
