// SPDX-License-Identifier: Apache-2.0
// The process and its devices; streams and events.
#include "inspect/record/hook.h"

PLAT_HOOK(After, aclInit, (const char* path), (path))
PLAT_HOOK(Before, aclFinalize, (), ())
PLAT_HOOK(Before, aclFinalizeReference, (uint64_t * left), (left), OUT(left))
PLAT_HOOK(After, aclrtSetDevice, (int32_t device), (device), V(device))
PLAT_HOOK(Before, aclrtResetDevice, (int32_t device), (device), V(device))
PLAT_HOOK(Before, aclrtResetDeviceForce, (int32_t device), (device), V(device))
PLAT_HOOK(After, aclrtCreateContext, (aclrtContext * context, int32_t device), (context, device),
          OUT(context), V(device))
PLAT_HOOK(Before, aclrtDestroyContext, (aclrtContext context), (context), V(context))
PLAT_HOOK(After, aclrtSetCurrentContext, (aclrtContext context), (context), V(context))
PLAT_HOOK(Both, aclrtSynchronizeDevice, (), ())
PLAT_HOOK(Both, aclrtSynchronizeDeviceWithTimeout, (int32_t timeout), (timeout), V(timeout))

PLAT_HOOK(After, aclrtCreateStream, (aclrtStream * stream), (stream), OUT(stream))
PLAT_HOOK(After, aclrtCreateStreamWithConfig, (aclrtStream * stream, uint32_t priority, uint32_t flag),
          (stream, priority, flag), OUT(stream), V(priority), V(flag))
PLAT_HOOK(After, aclrtCreateStreamV2, (aclrtStream * stream, const aclrtStreamConfigHandle* config),
          (stream, config), OUT(stream))
PLAT_HOOK(Before, aclrtDestroyStream, (aclrtStream stream), (stream), V(stream))
PLAT_HOOK(Before, aclrtDestroyStreamForce, (aclrtStream stream), (stream), V(stream))
PLAT_HOOK(Both, aclrtSynchronizeStream, (aclrtStream stream), (stream), V(stream))
PLAT_HOOK(Both, aclrtSynchronizeStreamWithTimeout, (aclrtStream stream, int32_t timeout), (stream, timeout),
          V(stream), V(timeout))
PLAT_HOOK(Both, aclrtStreamQuery, (aclrtStream stream, aclrtStreamStatus* status), (stream, status),
          V(stream), OUT(status))
PLAT_HOOK(After, aclrtCtxGetCurrentDefaultStream, (aclrtStream * stream), (stream), OUT(stream))
PLAT_HOOK(Before, aclrtStreamWaitEvent, (aclrtStream stream, aclrtEvent event), (stream, event), V(stream),
          V(event))
PLAT_HOOK(Before, aclrtStreamWaitEventWithTimeout, (aclrtStream stream, aclrtEvent event, int32_t timeout),
          (stream, event, timeout), V(stream), V(event))

PLAT_HOOK(After, aclrtCreateEvent, (aclrtEvent * event), (event), OUT(event))
PLAT_HOOK(After, aclrtCreateEventWithFlag, (aclrtEvent * event, uint32_t flag), (event, flag), OUT(event),
          V(flag))
PLAT_HOOK(After, aclrtCreateEventExWithFlag, (aclrtEvent * event, uint32_t flag), (event, flag), OUT(event),
          V(flag))
PLAT_HOOK(Before, aclrtDestroyEvent, (aclrtEvent event), (event), V(event))
PLAT_HOOK(Before, aclrtRecordEvent, (aclrtEvent event, aclrtStream stream), (event, stream), V(event),
          V(stream))
PLAT_HOOK(Before, aclrtResetEvent, (aclrtEvent event, aclrtStream stream), (event, stream), V(event),
          V(stream))
PLAT_HOOK(Both, aclrtQueryEvent, (aclrtEvent event, aclrtEventStatus* status), (event, status), V(event),
          OUT(status))
PLAT_HOOK(Both, aclrtQueryEventStatus, (aclrtEvent event, aclrtEventRecordedStatus* status), (event, status),
          V(event), OUT(status))
PLAT_HOOK(Both, aclrtSynchronizeEvent, (aclrtEvent event), (event), V(event))
PLAT_HOOK(Both, aclrtSynchronizeEventWithTimeout, (aclrtEvent event, int32_t timeout), (event, timeout),
          V(event), V(timeout))

PLAT_HOOK(Both, aclrtStreamAbort, (aclrtStream stream), (stream), V(stream))
PLAT_HOOK(Before, aclrtStreamStop, (aclrtStream stream), (stream), V(stream))
PLAT_HOOK(Both, aclrtDeviceTaskAbort, (int32_t device, uint32_t timeout), (device, timeout), V(device))
PLAT_HOOK(Before, aclrtRecordEventWithFlag, (aclrtEvent event, aclrtStream stream, uint32_t flag),
          (event, stream, flag), V(event), V(stream))
PLAT_HOOK(Before, aclrtStreamWaitEventWithFlag,
          (aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag),
          (stream, event, timeout, flag), V(stream), V(event))

PLAT_HOOK(After, aclrtCreateNotify, (aclrtNotify * notify, uint64_t flag), (notify, flag), OUT(notify),
          V(flag))
PLAT_HOOK(Before, aclrtDestroyNotify, (aclrtNotify notify), (notify), V(notify))
PLAT_HOOK(Before, aclrtRecordNotify, (aclrtNotify notify, aclrtStream stream), (notify, stream), V(notify),
          V(stream))
PLAT_HOOK(Before, aclrtWaitAndResetNotify, (aclrtNotify notify, aclrtStream stream, uint32_t timeout),
          (notify, stream, timeout), V(notify), V(stream))
PLAT_HOOK(After, aclrtNotifyImportByKey, (aclrtNotify * notify, const char* key, uint64_t flags),
          (notify, key, flags), OUT(notify))
PLAT_HOOK(After, aclrtCntNotifyCreate, (aclrtCntNotify * notify, uint64_t flag), (notify, flag), OUT(notify),
          V(flag))
PLAT_HOOK(Before, aclrtCntNotifyDestroy, (aclrtCntNotify notify), (notify), V(notify))
PLAT_HOOK(Before, aclrtCntNotifyRecord,
          (aclrtCntNotify notify, aclrtStream stream, aclrtCntNotifyRecordInfo* info), (notify, stream, info),
          V(notify), V(stream))
PLAT_HOOK(Before, aclrtCntNotifyWaitWithTimeout,
          (aclrtCntNotify notify, aclrtStream stream, aclrtCntNotifyWaitInfo* info), (notify, stream, info),
          V(notify), V(stream))
PLAT_HOOK(After, aclrtIpcOpenEventHandle, (aclrtIpcEventHandle handle, aclrtEvent* event), (handle, event),
          OUT(event))
