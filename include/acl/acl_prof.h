// SPDX-License-Identifier: Apache-2.0
// Profiling. Nothing is measured and no file is written: the calls that clients make at start-up are checked,
// accepted, and said to be without effect in the log at level info.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_PROF_ACL_API 0x0001ULL
#define ACL_PROF_TASK_TIME 0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU 0x0008ULL
#define ACL_PROF_L2CACHE 0x0010ULL
#define ACL_PROF_HCCL_TRACE 0x0020ULL
#define ACL_PROF_TRAINING_TRACE 0x0040ULL
#define ACL_PROF_MSPROFTX 0x0080ULL
#define ACL_PROF_RUNTIME_API 0x0100ULL
#define ACL_PROF_GE_API_L0 0x0200ULL
#define ACL_PROF_TASK_TIME_L0 0x0800ULL
#define ACL_PROF_TASK_MEMORY 0x1000ULL
#define ACL_PROF_TASK_TIME_L2 0x2000ULL
#define ACL_PROF_OP_ATTR 0x4000ULL
#define ACL_PROF_GE_API_L1 0x01000000ULL

typedef enum {
  ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
  ACL_AICORE_PIPE_UTILIZATION = 1,
  ACL_AICORE_MEMORY_BANDWIDTH = 2,
  ACL_AICORE_L0B_AND_WIDTH = 3,
  ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
  ACL_AICORE_MEMORY_UB = 5,
  ACL_AICORE_L2_CACHE = 6,
  ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
  ACL_AICORE_MEMORY_ACCESS = 8,
  ACL_AICORE_NONE = 0xFF,
} aclprofAicoreMetrics;

typedef enum {
  ACL_STEP_START = 0,
  ACL_STEP_END = 1,
} aclprofStepTag;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef struct aclprofStepInfo aclprofStepInfo;

// Begins profiling into a directory; length is that of the path.
ACL_FUNC_VISIBILITY aclError aclprofInit(const char* profilerResultPath, size_t length);

// Ends profiling.
ACL_FUNC_VISIBILITY aclError aclprofFinalize(void);

// A configuration for the listed devices, or NULL. aicoreEvents is NULL; dataTypeConfig is of ACL_PROF_*
// flags. No devices at all is a configuration of the host.
ACL_FUNC_VISIBILITY aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                                       aclprofAicoreMetrics aicoreMetrics,
                                                       const aclprofAicoreEvents* aicoreEvents,
                                                       uint64_t dataTypeConfig);

// Frees a configuration.
ACL_FUNC_VISIBILITY aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig);

// Starts what a configuration says.
ACL_FUNC_VISIBILITY aclError aclprofStart(const aclprofConfig* profilerConfig);

// Stops what a configuration says.
ACL_FUNC_VISIBILITY aclError aclprofStop(const aclprofConfig* profilerConfig);

// A record of training steps, or NULL when memory is short.
ACL_FUNC_VISIBILITY aclprofStepInfo* aclprofCreateStepInfo(void);

// The start or the end of a step on a stream.
ACL_FUNC_VISIBILITY aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag,
                                                     aclrtStream stream);

// Frees a record of training steps.
ACL_FUNC_VISIBILITY void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo);

#ifdef __cplusplus
}
#endif
