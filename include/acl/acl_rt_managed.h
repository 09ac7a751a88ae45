// SPDX-License-Identifier: Apache-2.0
// Managed memory: one address for host and device, advice where it should be, prefetch.
#pragma once

#include "acl_base.h"
#include "acl_rt_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_RT_MEM_ATTACH_GLOBAL 0x01U

typedef enum aclrtMemManagedAdviseType {
  ACL_MEM_ADVISE_SET_READ_MOSTLY = 0,
  ACL_MEM_ADVISE_UNSET_READ_MOSTLY,
  ACL_MEM_ADVISE_SET_PREFERRED_LOCATION,
  ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
  ACL_MEM_ADVISE_SET_ACCESSED_BY,
  ACL_MEM_ADVISE_UNSET_ACCESSED_BY,
} aclrtMemManagedAdviseType;

typedef enum aclrtMemManagedRangeAttribute {
  ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY = 1,
  ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
  ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
  ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
  ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
  ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
  ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
  ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
} aclrtMemManagedRangeAttribute;

// Allocates memory that host and devices use by one address, in whole 2 MiB; freed by aclrtFree. flag is
// ACL_RT_MEM_ATTACH_GLOBAL. Atlas A2 only.
ACL_FUNC_VISIBILITY aclError aclrtMemAllocManaged(void** ptr, uint64_t size, uint32_t flag);

// Says how whole 2 MiB pages of managed memory will be used. The advice is kept and told; where the memory
// lies does not change, since all places are equally near here.
ACL_FUNC_VISIBILITY aclError aclrtMemManagedAdvise(const void* const ptr, uint64_t size,
                                                   aclrtMemManagedAdviseType advise,
                                                   aclrtMemManagedLocation location);

// One attribute of a range of managed memory: what all its pages have in common.
ACL_FUNC_VISIBILITY aclError aclrtMemManagedGetAttr(aclrtMemManagedRangeAttribute attribute, const void* ptr,
                                                    size_t size, void* data, size_t dataSize);

// Several of them.
ACL_FUNC_VISIBILITY aclError aclrtMemManagedGetAttrs(aclrtMemManagedRangeAttribute* attributes,
                                                     size_t numAttributes, const void* ptr, size_t size,
                                                     void** data, size_t* dataSizes);

// Asks, in stream order, for managed memory to be brought to a place; what is wrong with the range shows when
// the stream is waited for. The request is kept and told.
ACL_FUNC_VISIBILITY aclError aclrtMemManagedPrefetchAsync(const void* ptr, size_t size,
                                                          aclrtMemManagedLocation location, uint32_t flags,
                                                          aclrtStream stream);

// The same for several ranges: prefetchLocs[k] holds for the ranges from prefetchLocIdxs[k] on.
ACL_FUNC_VISIBILITY aclError aclrtMemManagedPrefetchBatchAsync(const void** ptrs, size_t* sizes, size_t count,
                                                               aclrtMemManagedLocation* prefetchLocs,
                                                               size_t* prefetchLocIdxs,
                                                               size_t numPrefetchLocs, uint64_t flags,
                                                               aclrtStream stream);

#ifdef __cplusplus
}
#endif
