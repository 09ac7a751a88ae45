// SPDX-License-Identifier: Apache-2.0
// The memory calls of mstx in few words, for one heap or one region at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mstx/ms_tools_ext.h"

namespace mstx_words {

inline mstxMemHeapHandle_t heap(const void* start, size_t size, mstxDomainHandle_t domain = nullptr) {
  const mstxMemVirtualRangeDesc_t range = {0, start, size};
  const mstxMemHeapDesc_t desc = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                  &range};
  return mstxMemHeapRegister(domain, &desc);
}

// The handle that the call sets, or `before` if it sets none.
inline mstxMemRegionHandle_t region(mstxMemHeapHandle_t heap, const void* start, size_t size,
                                    mstxDomainHandle_t domain = nullptr,
                                    mstxMemRegionHandle_t before = nullptr) {
  const mstxMemVirtualRangeDesc_t range = {0, start, size};
  mstxMemRegionHandle_t handle = before;
  const mstxMemRegionsRegisterBatch_t batch = {heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, &handle};
  mstxMemRegionsRegister(domain, &batch);
  return handle;
}

inline mstxMemRegionRef_t by_handle(mstxMemRegionHandle_t handle) {
  mstxMemRegionRef_t ref = {};
  ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
  ref.handle = handle;
  return ref;
}
inline mstxMemRegionRef_t by_pointer(const void* pointer) {
  mstxMemRegionRef_t ref = {};
  ref.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
  ref.pointer = pointer;
  return ref;
}

inline void unregister(mstxMemRegionRef_t ref, mstxDomainHandle_t domain = nullptr) {
  const mstxMemRegionsUnregisterBatch_t batch = {1, &ref};
  mstxMemRegionsUnregister(domain, &batch);
}
inline void allow(mstxMemRegionRef_t ref, uint32_t flags, mstxDomainHandle_t domain = nullptr) {
  const mstxMemPermissionsAssignRegionsDesc_t desc = {flags, ref};
  const mstxMemPermissionsAssignBatch_t batch = {1, &desc};
  mstxMemPermissionsAssign(domain, &batch);
}

}  // namespace mstx_words
