// Every test starts with no tool and nothing remembered, and leaves it so.
#pragma once

#include <gtest/gtest.h>

#include "unit/mstx/fake_tool.h"

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
    const mstxMemVirtualRangeDesc_t range{0, at(start), size};
    const mstxMemHeapDesc_t desc{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                 &range};
    return mstxMemHeapRegister(domain, &desc);
  }
  static mstxMemRegionHandle_t add_region(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, uint64_t start,
                                          uint64_t size) {
    const mstxMemVirtualRangeDesc_t range{0, at(start), size};
    mstxMemRegionHandle_t handle = nullptr;
    const mstxMemRegionsRegisterBatch_t batch{heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, &handle};
    mstxMemRegionsRegister(domain, &batch);
    return handle;
  }
  static mstxMemRegionRef_t by_handle(mstxMemRegionHandle_t handle) {
    mstxMemRegionRef_t ref{};
    ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
    ref.handle = handle;
    return ref;
  }
  static mstxMemRegionRef_t by_pointer(uint64_t start) {
    mstxMemRegionRef_t ref{};
    ref.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
    ref.pointer = at(start);
    return ref;
  }
  static void drop_region(mstxDomainHandle_t domain, mstxMemRegionRef_t ref) {
    const mstxMemRegionsUnregisterBatch_t batch{1, &ref};
    mstxMemRegionsUnregister(domain, &batch);
  }
  static void assign(mstxDomainHandle_t domain, mstxMemRegionRef_t ref, uint32_t flags) {
    const mstxMemPermissionsAssignRegionsDesc_t desc{flags, ref};
    const mstxMemPermissionsAssignBatch_t batch{1, &desc};
    mstxMemPermissionsAssign(domain, &batch);
  }
};

}  // namespace plat::mstx::test
