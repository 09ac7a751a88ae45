// SPDX-License-Identifier: Apache-2.0
// Devices: which one a thread uses, and whether two can reach each other's memory.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aclrtRunMode {
  ACL_DEVICE,
  ACL_HOST,
} aclrtRunMode;

typedef enum aclrtFloatOverflowMode {
  ACL_RT_OVERFLOW_MODE_SATURATION = 0,
  ACL_RT_OVERFLOW_MODE_INFNAN,
  ACL_RT_OVERFLOW_MODE_UNDEF,
} aclrtFloatOverflowMode;

// Binds the thread to a device, with its default context and default stream. Counted per process. 107001 for
// an id that is not there.
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);

// Undoes one aclrtSetDevice; the last one waits for queued work and ends the device's default context and
// streams. Memory stays, so that programs can still unmap, free and release it; aclrtResetDeviceForce and
// aclFinalize take it back.
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);

// Resets a device that is set, in one step, whatever the count, once queued work has run, and takes back the
// device memory, mappings, physical handles and reservations that the process has there.
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);

// The device of the thread's current context; 107002 when there is none.
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);

// How many devices the process sees.
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);

// Whether the application runs on the host or on the device itself.
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);

// Waits for all streams of the current context's device.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);

// The same, for at most timeout milliseconds; -1 waits for ever.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

// Whether deviceId can reach the memory of peerDeviceId: 1 or 0. The same id twice is 100000.
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);

// Lets the current device reach the peer's memory; not the other way round. flags must be 0, otherwise
// 200006.
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

// Prepares dstDevId to reach memory of another device of this process, for which peer access was enabled
// before. Here every page is reached as soon as that is so: the call checks, and changes nothing. flags must
// be 0.
ACL_FUNC_VISIBILITY aclError aclrtMemP2PMap(void* devPtr, size_t size, int32_t dstDevId, uint64_t flags);

// Undoes aclrtDeviceEnablePeerAccess.
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

// 1 if deviceId may reach the memory of peerDeviceId now, 0 if not.
ACL_FUNC_VISIBILITY aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId,
                                                         int32_t* status);

// The process id as seen outside of containers: what a share whitelist wants.
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetBareTgid(int32_t* pid);

// How operators of the current device treat floating-point overflow. Kept for aclrtGetDeviceSatMode, and
// without effect: there are no operators here.
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);

// What was set for the current device; ACL_RT_OVERFLOW_MODE_SATURATION at first.
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode);

// How long an operator may run, in seconds; 0 is the longest. Accepted without effect: there are no operators
// here.
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

#ifdef __cplusplus
}
#endif
