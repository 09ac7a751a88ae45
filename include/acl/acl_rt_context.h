// SPDX-License-Identifier: Apache-2.0
// Contexts: what a thread works in. Each has a device and a default stream.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Creates a context on a device and makes it the thread's current one.
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);

// Destroys a context made by aclrtCreateContext; the default one goes with its device.
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

// Makes a context the thread's current one, and with it its device.
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

// The thread's current context; 107002, and the output left alone, when there is none.
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);

// The default stream of the thread's current context.
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream);

// Whether the device is set in this process: 1 from the first aclrtSetDevice to the last aclrtResetDevice.
// flags is reserved and NULL.
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active);

#ifdef __cplusplus
}
#endif
