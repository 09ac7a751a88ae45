// SPDX-License-Identifier: Apache-2.0
// Streams: queues of work, each in order, all at once. Where a stream is asked for, NULL is the default one.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U

// What a stream does after a task failed: run the next one (default), or stop.
#define ACL_CONTINUE_ON_FAILURE 0x00000000U
#define ACL_STOP_ON_FAILURE 0x00000001U

typedef enum aclrtStreamStatus {
  ACL_STREAM_STATUS_COMPLETE = 0,
  ACL_STREAM_STATUS_NOT_READY = 1,
  ACL_STREAM_STATUS_RESERVED = 0xFFFF,
} aclrtStreamStatus;

typedef enum {
  ACL_RT_STREAM_WORK_ADDR_PTR = 0,
  ACL_RT_STREAM_WORK_SIZE,
  ACL_RT_STREAM_FLAG,
  ACL_RT_STREAM_PRIORITY,
} aclrtStreamConfigAttr;

typedef struct aclrtStreamConfigHandle {
  void* workptr;
  size_t workSize;
  size_t flag;
  uint32_t priority;
} aclrtStreamConfigHandle;

typedef enum aclrtStreamAttr {
  ACL_STREAM_ATTR_FAILURE_MODE = 1,
  ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2,
  ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
  ACL_STREAM_ATTR_CACHE_OP_INFO = 4,
  ACL_STREAM_ATTR_PRIORITY = 5,
} aclrtStreamAttr;

typedef union aclrtStreamAttrValue {
  uint64_t failureMode;
  uint32_t overflowSwitch;
  uint32_t userCustomTag;
  uint32_t cacheOpInfoSwitch;
  uint32_t streamPriority;
  uint32_t reserve[4];
} aclrtStreamAttrValue;

typedef enum aclrtStreamState {
  ACL_RT_STREAM_STATE_CREATE_POST = 1,
  ACL_RT_STREAM_STATE_DESTROY_PRE = 2,
} aclrtStreamState;

typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void* args);

#define ACL_EVENT_WAIT_DEFAULT 0x00000000U
#define ACL_EVENT_WAIT_EXTERNAL 0x00000001U

// Creates a stream of the highest priority in the current context. 207008 when the device has no more.
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);

// Creates a stream with a priority of 0 (highest) to 7 and ACL_STREAM_* flags.
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority,
                                                         uint32_t flag);

// Creates a stream as a configuration says.
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle);

// An empty stream configuration, or NULL when memory is short.
ACL_FUNC_VISIBILITY aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void);

// Sets one attribute of a stream configuration; valueSize is the size of what attrValue points to.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle,
                                                     aclrtStreamConfigAttr attr, const void* attrValue,
                                                     size_t valueSize);

// Frees a stream configuration.
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle);

// Waits for the stream's queued work and destroys it.
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

// Destroys the stream and discards what it has not started.
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

// Waits for all work queued so far. Returns the error of a task that failed.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

// The same, for at most timeout milliseconds (-1: for ever); 507046 when they have passed.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

// Whether all work queued so far has completed.
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);

// Chooses what the streams of the stream's context do after a task failed. Once for each stream.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

// Makes work queued later wait for what the event last recorded. The event must be one that streams may wait
// on.
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

// The same, for at most timeout seconds (0: for ever); the stream then fails.
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event,
                                                             int32_t timeout);

// How long waits of aclrtStreamWaitEvent last that this process queues from now on, in seconds (0, as at
// first: for ever); a stream that has waited for so long fails. Also for aclrtWaitAndResetNotify and
// aclrtCntNotifyWaitWithTimeout with a timeout of 0xFFFFFFFF.
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t timeout);

// The stream's number. Streams of other contexts have theirs too; without a stream, that of the default one.
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId);

// The stream's priority, from 0 (highest) to 7.
ACL_FUNC_VISIBILITY aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority);

// The ACL_STREAM_* flags that the stream was created with.
ACL_FUNC_VISIBILITY aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags);

// Switches the watch for overflows of a stream's work on (1) or off (0). Kept and told; nothing computes
// here. Products without the watch accept everything.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);

// Whether the watch for overflows is on: at first 0, and always 1 on products that cannot switch it.
ACL_FUNC_VISIBILITY aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag);

// The lowest priority (7) and the highest (0) of streams; either pointer may be NULL.
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority,
                                                               int32_t* greatestPriority);

// How many more streams this process can create on the current device.
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAvailableNum(uint32_t* streamCount);

// Sets an attribute of a stream. A priority counts from when the stream next has work; the failure mode is
// that of aclrtSetStreamFailureMode; switches and the tag are kept and told.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                                     aclrtStreamAttrValue* value);

// What an attribute of a stream is.
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                                     aclrtStreamAttrValue* value);

// Gives up all that the stream was given: what waits ends, what has not begun is dropped, and a copy that
// runs is waited for. Whoever waits for the stream gets 107023. Events recorded in what was dropped are never
// reached. The stream can be used again afterwards.
ACL_FUNC_VISIBILITY aclError aclrtStreamAbort(aclrtStream stream);

// Ends what the stream waits for at its head, which is an error of the stream (107023); what is queued goes
// on.
ACL_FUNC_VISIBILITY aclError aclrtStreamStop(aclrtStream stream);

// aclrtStreamWaitEventWithTimeout with ACL_EVENT_WAIT_DEFAULT; ACL_EVENT_WAIT_EXTERNAL is for captured
// streams, which there are none of.
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event,
                                                          uint32_t timeout, uint32_t flag);

// Has the callback told after each stream is made and before it goes, default streams too; NULL removes the
// one of that name.
ACL_FUNC_VISIBILITY aclError aclrtRegStreamStateCallback(const char* regName,
                                                         aclrtStreamStateCallback callback, void* args);

#ifdef __cplusplus
}
#endif
