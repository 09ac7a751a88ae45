// SPDX-License-Identifier: Apache-2.0
// Blocks of aclrtMalloc and mapped memory shared with other processes by key.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x1UL

// Values of the attribute ACL_RT_IPC_MEM_ATTR_ACCESS_LINK.
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO 0
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS 1

typedef enum {
  ACL_RT_IPC_MEM_ATTR_ACCESS_LINK,
} aclrtIpcMemAttrType;

// Processes of one server, by bare pid.
typedef struct {
  uint32_t sdid;
  int32_t* pid;
  size_t num;
} aclrtServerPid;

// Exports device memory of aclrtMalloc, or mapped memory of a handle that is not shared; key receives 64
// characters and a null, so len is 65. devPtr is the start of a page of its memory: a multiple of 2 MiB, or
// of 4 KiB in a block of small pages.
ACL_FUNC_VISIBILITY aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len,
                                                     uint64_t flags);

// Adds processes, by bare pid, to those that may import.
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num);

// The same by server, on Atlas A3: sdid is that of the importing device (ACL_DEV_ATTR_SUPER_POD_DEVICE_ID). A
// key is imported on the server that exported it, so an sdid of another one is refused (207000).
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportPidInterServer(const char* key, aclrtServerPid* serverPids,
                                                             size_t num);

// Maps exported memory here. It ends with aclrtIpcMemClose, not with aclrtFree.
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags);

// Over which link memory behind a key is reached: a hint, of which nothing is felt here. 207021 for a link
// that the product does not have.
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetAttr(const char* key, aclrtIpcMemAttrType type, uint64_t attr);

// Ends an export or an import; importers first.
ACL_FUNC_VISIBILITY aclError aclrtIpcMemClose(const char* key);

#ifdef __cplusplus
}
#endif
