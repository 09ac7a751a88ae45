// SPDX-License-Identifier: Apache-2.0
// Media memory by its other name.
#pragma once

#include "../acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int hi_s32;
typedef unsigned int hi_u32;
typedef unsigned long long hi_u64;

#define hi_void void
#define HI_NULL 0L
#define HI_SUCCESS 0
#define HI_FAILURE (-1)

// Allocates media memory on the current device; dev_id is reserved. 0, or the code of what failed.
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_dvpp_malloc(hi_u32 dev_id, hi_void** dev_ptr, hi_u64 size);

// Frees it.
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_dvpp_free(hi_void* dev_ptr);

#ifdef __cplusplus
}
#endif
