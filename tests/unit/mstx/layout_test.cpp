// SPDX-License-Identifier: Apache-2.0
// The ABI: sizes, offsets, ids and codes that other people's binaries were built with.

#include <gtest/gtest.h>

#include <cstddef>

#include "mstx/broker_types.h"

namespace {

TEST(MstxLayout, StructsHaveTheirSizesAndOffsets) {
  EXPECT_EQ(sizeof(mstxRangeId), 8u);
  EXPECT_EQ(sizeof(aclrtStream), 8u);
  EXPECT_EQ(sizeof(mstxDomainHandle_t), 8u);
  EXPECT_EQ(sizeof(mstxMemHeapUsageType), 4u);
  EXPECT_EQ(sizeof(mstxMemType), 4u);
  EXPECT_EQ(sizeof(mstxMemRegionRefType), 4u);

  EXPECT_EQ(sizeof(mstxMemVirtualRangeDesc_t), 24u);
  EXPECT_EQ(offsetof(mstxMemVirtualRangeDesc_t, ptr), 8u);
  EXPECT_EQ(offsetof(mstxMemVirtualRangeDesc_t, size), 16u);

  EXPECT_EQ(sizeof(mstxMemHeapDesc_t), 16u);
  EXPECT_EQ(offsetof(mstxMemHeapDesc_t, type), 4u);
  EXPECT_EQ(offsetof(mstxMemHeapDesc_t, typeSpecificDesc), 8u);

  EXPECT_EQ(sizeof(mstxMemRegionsRegisterBatch_t), 40u);
  EXPECT_EQ(offsetof(mstxMemRegionsRegisterBatch_t, regionType), 8u);
  EXPECT_EQ(offsetof(mstxMemRegionsRegisterBatch_t, regionCount), 16u);
  EXPECT_EQ(offsetof(mstxMemRegionsRegisterBatch_t, regionDescArray), 24u);
  EXPECT_EQ(offsetof(mstxMemRegionsRegisterBatch_t, regionHandleArrayOut), 32u);

  EXPECT_EQ(sizeof(mstxMemRegionRef_t), 16u);
  EXPECT_EQ(offsetof(mstxMemRegionRef_t, pointer), 8u);
  EXPECT_EQ(offsetof(mstxMemRegionRef_t, handle), 8u);

  EXPECT_EQ(sizeof(mstxMemRegionsUnregisterBatch_t), 16u);
  EXPECT_EQ(offsetof(mstxMemRegionsUnregisterBatch_t, refArray), 8u);

  EXPECT_EQ(sizeof(mstxMemPermissionsAssignRegionsDesc_t), 24u);
  EXPECT_EQ(offsetof(mstxMemPermissionsAssignRegionsDesc_t, region), 8u);
  EXPECT_EQ(sizeof(mstxMemPermissionsAssignBatch_t), 16u);
  EXPECT_EQ(offsetof(mstxMemPermissionsAssignBatch_t, regionDescArray), 8u);
}

TEST(MstxLayout, CodesAndIdsAreTheDocumentedOnes) {
  EXPECT_EQ(MSTX_SUCCESS, 0);
  EXPECT_EQ(MSTX_FAIL, 1);
  EXPECT_EQ(MSTX_TOOL_INVALID_ID, 0);
  EXPECT_EQ(MSTX_TOOL_MSPROF_ID, 0x1000);
  EXPECT_EQ(MSTX_TOOL_MSOPPROF_ID, 0x1001);
  EXPECT_EQ(MSTX_TOOL_MSSANITIZER_ID, 0x1002);
  EXPECT_EQ(MSTX_TOOL_MSLEAKS_ID, 0x1003);
  EXPECT_EQ(MSTX_MEM_PERMISSIONS_REGION_FLAGS_NONE, 0);
  EXPECT_EQ(MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ, 1);
  EXPECT_EQ(MSTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE, 2);
  EXPECT_EQ(MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED, 4);
  EXPECT_EQ(MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, 0);
  EXPECT_EQ(MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 0);
  EXPECT_EQ(MSTX_MEM_REGION_REF_TYPE_POINTER, 0);
  EXPECT_EQ(MSTX_MEM_REGION_REF_TYPE_HANDLE, 1);
  EXPECT_EQ(MSTX_API_MODULE_CORE_MEM, 3);
  EXPECT_EQ(MSTX_API_CORE_GET_TOOL_ID, 4);
  EXPECT_EQ(MSTX_API_CORE2_DOMAIN_RANGE_END, 5);
  EXPECT_EQ(MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, 5);
  EXPECT_EQ(globalDomain, nullptr);
}

}  // namespace
