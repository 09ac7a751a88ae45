// SPDX-License-Identifier: Apache-2.0
// Cache operations, in stream order. There is no cache here: they check and keep their place in the stream.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_RT_CMO_MAX_BARRIER_NUM 6U

typedef enum aclrtCmoType {
  ACL_RT_CMO_TYPE_PREFETCH = 0,
  ACL_RT_CMO_TYPE_WRITEBACK,
  ACL_RT_CMO_TYPE_INVALID,
  ACL_RT_CMO_TYPE_FLUSH,
} aclrtCmoType;

typedef struct {
  aclrtCmoType cmoType;
  uint32_t barrierId;
} aclrtBarrierCmoInfo;

typedef struct {
  size_t barrierNum;
  aclrtBarrierCmoInfo cmoInfo[ACL_RT_CMO_MAX_BARRIER_NUM];
} aclrtBarrierTaskInfo;

// Writes all of a device's cache back. rsv must be NULL.
ACL_FUNC_VISIBILITY aclError aclrtDeviceL2CacheFlush(void* rsv);

// A cache operation on a device range.
ACL_FUNC_VISIBILITY aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream);

// The same with a barrier number (above 0 for INVALID, otherwise 0) that aclrtCmoWaitBarrier can wait for.
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithBarrier(void* src, size_t size, aclrtCmoType cmoType,
                                                      uint32_t barrierId, aclrtStream stream);

// Makes the stream wait for the operations with the given barrier numbers. flag must be 0.
ACL_FUNC_VISIBILITY aclError aclrtCmoWaitBarrier(aclrtBarrierTaskInfo* taskInfo, aclrtStream stream,
                                                 uint32_t flag);

// Size of a cache descriptor.
ACL_FUNC_VISIBILITY aclError aclrtCmoGetDescSize(size_t* size);

// Writes a cache descriptor for a device range.
ACL_FUNC_VISIBILITY aclError aclrtCmoSetDesc(void* cmoDesc, void* src, size_t size);

// The cache operation on the range of a descriptor. reserve must be NULL.
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithDesc(void* cmoDesc, aclrtCmoType cmoType, aclrtStream stream,
                                                   const void* reserve);

#ifdef __cplusplus
}
#endif
