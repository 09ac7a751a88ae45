// SPDX-License-Identifier: Apache-2.0
// Host work in stream order: functions that the library runs, and callbacks that a thread of the client's
// runs.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// What is known of a task that failed. Only calls look inside.
typedef struct rtExceptionInfo aclrtExceptionInfo;
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo* exceptionInfo);

typedef enum aclrtCallbackBlockType {
  ACL_CALLBACK_NO_BLOCK,
  ACL_CALLBACK_BLOCK,
} aclrtCallbackBlockType;

typedef void (*aclrtCallback)(void* userData);
typedef void (*aclrtHostFunc)(void* args);

// Queues a callback; the thread subscribed to the stream runs it in aclrtProcessReport. With BLOCK the stream
// waits for it. The stream must be subscribed.
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void* userData,
                                                 aclrtCallbackBlockType blockType, aclrtStream stream);

// Names the thread that runs the stream's callbacks. One thread may serve many streams of one device, a
// stream has one thread.
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

// Runs callbacks that are due for the calling thread, waiting up to timeout milliseconds (-1: for ever) for
// the first.
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);

// Ends what aclrtSubscribeReport began.
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

// Queues a function that the library runs on the host; the stream waits for it.
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args);

// Has a function told of each task that fails, in the thread that ran it and before whoever waits for it. It
// must not call the device. One such function; NULL removes it.
ACL_FUNC_VISIBILITY aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

// The same for many functions, each once.
ACL_FUNC_VISIBILITY aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback);

// Undoes aclrtExceptionInfoCallbackRegister; a function that is not there is fine.
ACL_FUNC_VISIBILITY aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback);

// Which task of its stream failed, counted from 1; 0xFFFFFFFF without info, as for all that follow.
ACL_FUNC_VISIBILITY uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info);

// The number of its stream (aclrtStreamGetId).
ACL_FUNC_VISIBILITY uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info);

// The system's number of the thread that ran it.
ACL_FUNC_VISIBILITY uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info);

// The id of its device, as aclrtSetDevice takes it.
ACL_FUNC_VISIBILITY uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info);

// The code that whoever waits for the task gets.
ACL_FUNC_VISIBILITY uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info);

#ifdef __cplusplus
}
#endif
