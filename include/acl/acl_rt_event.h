// SPDX-License-Identifier: Apache-2.0
// Events: marks in a stream that others wait for, query, and measure between.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_EVENT_IPC 0x00000040U

typedef enum aclrtEventStatus {
  ACL_EVENT_STATUS_COMPLETE = 0,
  ACL_EVENT_STATUS_NOT_READY = 1,
  ACL_EVENT_STATUS_RESERVED = 2,
} aclrtEventStatus;

// The values are the reverse of aclrtEventStatus.
typedef enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
} aclrtEventRecordedStatus;

typedef enum aclrtEventWaitStatus {
  ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
  ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
  ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF,
} aclrtEventWaitStatus;

// An event for another process. Its first 8 bytes are written, so zero it first.
typedef struct aclrtIpcEventHandle {
  char reserved[64];
} aclrtIpcEventHandle;

#define ACL_EVENT_RECORD_DEFAULT 0x00000000U
#define ACL_EVENT_RECORD_EXTERNAL 0x00000001U

// Creates an event that can be waited on and measured with.
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);

// Creates an event for the uses that its ACL_EVENT_* flags name. Without SYNC no stream may wait on it.
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);

// The same; this kind may be recorded again at any time, and reset and wait status do not apply to it.
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);

// Destroys an event without waiting; a record or wait that is still queued completes all the same.
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

// Marks the work that the stream has been given so far.
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

// Returns the event to its first state, in stream order. Only for events of aclrtCreateEventWithFlag with
// SYNC.
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

// Whether the recorded work has completed. Older form of aclrtQueryEventStatus.
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);

// Whether the recorded work has completed. Of an event that was never recorded: yes, if
// aclrtCreateEventExWithFlag made it.
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);

// Whether all stream waits for the event have completed.
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);

// Waits until the recorded work has completed.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

// The same, for at most timeout milliseconds (-1: for ever); 507047 when they have passed.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

// Milliseconds between two events that recorded their time. 107006 if one has no time yet, 107007 if they are
// in the wrong order.
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);

// When the event completed, in microseconds since the device's start.
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp);

// The event's number. Needs no context.
ACL_FUNC_VISIBILITY aclError aclrtGetEventId(aclrtEvent event, uint32_t* eventId);

// How many more events this process can create on the current device, but for those of
// aclrtCreateEventExWithFlag.
ACL_FUNC_VISIBILITY aclError aclrtGetEventAvailNum(uint32_t* eventCount);

// aclrtRecordEvent with ACL_EVENT_RECORD_DEFAULT; ACL_EVENT_RECORD_EXTERNAL is for captured streams, which
// there are none of. The first flag that an event meets is the only one it takes.
ACL_FUNC_VISIBILITY aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag);

// A handle by which other processes open an event that was created with ACL_EVENT_IPC.
ACL_FUNC_VISIBILITY aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle);

// Opens an event of another process: streams and host threads here can wait for its records and query them,
// until aclrtDestroyEvent. The current device may then reach the event's.
ACL_FUNC_VISIBILITY aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event);

#ifdef __cplusplus
}
#endif
