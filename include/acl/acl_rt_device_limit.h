// SPDX-License-Identifier: Apache-2.0
// Limits of devices and streams: stacks and print buffers of operators, and how many cores work may use.
//
// Nothing computes here, so that a limit is checked, kept and told, and has no other effect.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aclrtDeviceLimit {
  ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE = 0,
  ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE = 1,
  ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE = 2,
  ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE = 3,
  ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE = 4,
} aclrtDeviceLimit;

typedef enum aclrtDevResLimitType {
  ACL_RT_DEV_RES_CUBE_CORE = 0,
  ACL_RT_DEV_RES_VECTOR_CORE = 1,
} aclrtDevResLimitType;

// Sets a limit of the process, for devices that are set for the first time from now on. Stacks are rounded up
// to 16 KiB. The SIMT ones are of Ascend 950 alone.
ACL_FUNC_VISIBILITY aclError aclrtDeviceSetLimit(aclrtDeviceLimit limit, size_t value);

// What a limit is.
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetLimit(aclrtDeviceLimit limit, size_t* value);

// How many cores of a kind the work of this process may use on a device: what was set, else what the device
// has (PLAT_DEVICE_NUMBERS), else 207000. The device must be set.
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t* value);

// Sets that number; not above what the device has.
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t value);

// Forgets what was set for a device.
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceResLimit(int32_t deviceId);

// The same for one stream: what was set for it, else what its device has.
ACL_FUNC_VISIBILITY aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t* value);

// Sets the number for one stream; it may be above the limit of the device, and not above what that has.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t value);

// Forgets what was set for a stream.
ACL_FUNC_VISIBILITY aclError aclrtResetStreamResLimit(aclrtStream stream);

// From now on the limits of the stream count for the calling thread.
ACL_FUNC_VISIBILITY aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

// They no longer do.
ACL_FUNC_VISIBILITY aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

// What counts for the calling thread: the limit of the stream it uses, else of its device, else what that
// has.
ACL_FUNC_VISIBILITY aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value);

#ifdef __cplusplus
}
#endif
