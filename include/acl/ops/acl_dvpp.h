// SPDX-License-Identifier: Apache-2.0
// Media memory: device memory that starts at a multiple of 128 bytes, for one process only.
#pragma once

#include "../acl_rt_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

// Allocates media memory on the current device.
ACL_FUNC_VISIBILITY aclError acldvppMalloc(void** devPtr, size_t size);

// The same with attributes; cfg may be NULL.
ACL_FUNC_VISIBILITY aclError acldvppMallocWithCfg(void** devPtr, size_t size, aclrtMallocConfig* cfg);

// Frees media memory; not to be mixed with aclrtFree.
ACL_FUNC_VISIBILITY aclError acldvppFree(void* devPtr);

#ifdef __cplusplus
}
#endif
