// SPDX-License-Identifier: Apache-2.0
// The process: initialisation, versions, error text.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// The version of the interface that these headers describe.
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

// Whose last error is asked for.
typedef enum aclrtLastErrLevel {
  ACL_RT_THREAD_LEVEL = 0,
} aclrtLastErrLevel;

// What the system can be set to do.
typedef enum aclSysParamOpt {
  ACL_OPT_DETERMINISTIC = 0,
  ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
  ACL_OPT_STRONG_CONSISTENCY = 2,
  ACL_OPT_ENABLE_KERNEL_EARLY_START = 3,
} aclSysParamOpt;

// Initialises ACL. configPath names a JSON file, or is NULL. Counted: a repeat returns 100002, which clients
// may ignore.
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

// Undoes every aclInit; one more call returns 100037. Once queued work has run, contexts and streams end, and
// device memory, mappings, handles and reservations of the process are taken back. Blocks of aclrtMallocHost
// stay until they are freed.
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

// Undoes one aclInit; the last one does what aclFinalize does. refCount receives what is left, or is NULL.
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

// The text of the calling thread's most recent failure; never NULL, empty when there was none.
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

// The version of the interface that the library implements.
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion,
                                             int32_t* patchVersion);

// The version of a package as text; versionStr holds at least ACL_PKG_VERSION_MAX_SIZE bytes. "runtime" is
// the toolkit whose contract is played, "plat" the software device itself; 100003 for a package that is not
// there.
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char* pkgName, char* versionStr);

// The same as one number that grows with the version: major * 10,000,000 + minor * 100,000 + patch * 1,000.
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum);

#ifdef __cplusplus
}
#endif
