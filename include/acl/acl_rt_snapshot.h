// SPDX-License-Identifier: Apache-2.0
// Snapshots of the process: hold its calls up, back its device memory up, and restore it.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclrtSnapShotBackupArgs {
  uint32_t backupFlags;
  char reserved[60];
} aclrtSnapShotBackupArgs;

typedef struct aclrtSnapShotRestoreArgs {
  uint32_t restoreFlags;
  char reserved[60];
} aclrtSnapShotRestoreArgs;

typedef enum aclrtSnapShotStage {
  ACL_RT_SNAPSHOT_LOCK_PRE = 0,
  ACL_RT_SNAPSHOT_BACKUP_PRE,
  ACL_RT_SNAPSHOT_BACKUP_POST,
  ACL_RT_SNAPSHOT_RESTORE_PRE,
  ACL_RT_SNAPSHOT_RESTORE_POST,
  ACL_RT_SNAPSHOT_UNLOCK_POST,
} aclrtSnapShotStage;

typedef uint32_t (*aclrtSnapShotCallBack)(int32_t deviceId, void* args);

// Waits until calls of other threads have returned and streams have done their work, and holds up what other
// threads call from then on, but for plain questions. pid is the caller's own; reserve is NULL. 507905 after
// PLAT_SNAPSHOT_WAIT milliseconds. Atlas A2 and A3, as all that follow.
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessLock(int pid, void* reserve);

// Lets the calls go on. A backup is forgotten.
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessUnlock(int pid, void* reserve);

// Copies the contents of all device memory of the process that it did not import to memory of the host; a
// second one takes the place of the first. args is NULL.
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessBackup(int pid, aclrtSnapShotBackupArgs* args);

// Writes the backup back to where it was taken; all of that memory must still be there, and no other process
// may use the devices. args is NULL.
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessRestore(int pid, aclrtSnapShotRestoreArgs* args);

// Has a function called at a stage, once for each open device; other results than 0 end the call.
ACL_FUNC_VISIBILITY aclError aclrtSnapShotCallbackRegister(aclrtSnapShotStage stage,
                                                           aclrtSnapShotCallBack callback, void* args);

// Undoes aclrtSnapShotCallbackRegister.
ACL_FUNC_VISIBILITY aclError aclrtSnapShotCallbackUnregister(aclrtSnapShotStage stage,
                                                             aclrtSnapShotCallBack callback);

#ifdef __cplusplus
}
#endif
