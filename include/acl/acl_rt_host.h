// SPDX-License-Identifier: Apache-2.0
// Host memory: page-locked, and existing memory registered for the device.
#pragma once

#include "acl_base.h"
#include "acl_rt_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

// Flags of aclrtHostRegisterV2, to be combined.
#define ACL_HOST_REG_MAPPED 0x2UL
#define ACL_HOST_REG_IOMEMORY 0x4UL
#define ACL_HOST_REG_READONLY 0x8UL
#define ACL_HOST_REG_PINNED 0x10000000UL

typedef enum {
  ACL_HOST_REGISTER_MAPPED = 0,
  ACL_HOST_REGISTER_IOMEMORY = 0x04,
  ACL_HOST_REGISTER_READONLY = 0x08,
} aclrtHostRegisterType;

// The engines of a device that may use host memory.
typedef enum {
  ACL_RT_HAC_TYPE_STARS = 0,
  ACL_RT_HAC_TYPE_AICPU,
  ACL_RT_HAC_TYPE_AIC,
  ACL_RT_HAC_TYPE_AIV,
  ACL_RT_HAC_TYPE_PCIEDMA,
  ACL_RT_HAC_TYPE_RDMA,
  ACL_RT_HAC_TYPE_SDMA,
  ACL_RT_HAC_TYPE_DVPP,
  ACL_RT_HAC_TYPE_UDMA,
  ACL_RT_HAC_TYPE_CCU,
} aclrtHacType;

typedef enum {
  ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED = 0,
  ACL_RT_HOST_MEM_MAP_SUPPORTED,
} aclrtHostMemMapCapability;

// Allocates page-locked host memory, 64-byte aligned.
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);

// The same with attributes; VA_FLAG asks for an address that is valid on the device too.
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg);

// Frees page-locked host memory at once. 107000 for anything but the start of a block.
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);

// Waits for the device, then frees.
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void* hostPtr);

// Makes an existing host range that starts at a page usable by the device; devPtr receives the device's view
// of it.
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type,
                                               void** devPtr);

// Registers an existing host range with ACL_HOST_REG_* flags. 507910 if it overlaps a registered one.
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag);

// The device's view of an address in registered memory. flag must be 0.
ACL_FUNC_VISIBILITY aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag);

// Ends a registration, named by its start. 507911 if there is none.
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void* ptr);

// Whether an engine of the device can use mapped host memory.
ACL_FUNC_VISIBILITY aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType,
                                                         aclrtHostMemMapCapability* capabilities);

#ifdef __cplusplus
}
#endif
