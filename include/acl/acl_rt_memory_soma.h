// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools: memory that is allocated and freed in the order of a stream.
#pragma once

#include "acl_base.h"
#include "acl_rt_memory.h"
#include "acl_rt_vmm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* aclrtMemPool;

typedef enum aclrtMemPoolAttr {
  ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 0x1,
  ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 0x2,
  ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 0x3,
  ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD = 0x4,
  ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT = 0x5,
  ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH = 0x6,
  ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT = 0x7,
  ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH = 0x8,
} aclrtMemPoolAttr;

typedef struct {
  aclrtMemAllocationType allocType;
  aclrtMemHandleType handleType;
  aclrtMemLocation location;
  size_t maxSize;
  unsigned char reserved[32];
} aclrtMemPoolProps;

// Creates a pool on a device. maxSize 0 is the whole device; other sizes are rounded up to 2 MiB.
ACL_FUNC_VISIBILITY aclError aclrtMemPoolCreate(aclrtMemPool* memPool, const aclrtMemPoolProps* poolProps);

// Destroys a pool. 507000 for one that is not there.
ACL_FUNC_VISIBILITY aclError aclrtMemPoolDestroy(const aclrtMemPool memPool);

// Sets an attribute: a uint32_t for the reuse ones, otherwise a uint64_t; of the counters only the peaks, and
// only to 0.
ACL_FUNC_VISIBILITY aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value);

// Reads an attribute.
ACL_FUNC_VISIBILITY aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value);

// Allocates for work that is queued later on the stream; other streams need an event. 507000 when the pool is
// exhausted.
ACL_FUNC_VISIBILITY aclError aclrtMemPoolMallocAsync(void** ptr, size_t size, aclrtMemPool memPool,
                                                     aclrtStream stream);

// Frees after the work that is queued on the stream now.
ACL_FUNC_VISIBILITY aclError aclrtMemPoolFreeAsync(void* ptr, aclrtStream stream);

// Gives idle memory back until minBytesToKeep remain.
ACL_FUNC_VISIBILITY aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep);

#ifdef __cplusplus
}
#endif
