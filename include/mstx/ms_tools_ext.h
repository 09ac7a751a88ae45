// SPDX-License-Identifier: Apache-2.0
/* mstx: how a program tells the tools that watch it what it does.
 *
 * Marks and ranges put names on time, domains keep the names of one library apart from those of another, and
 * the memory calls (ms_tools_ext_mem.h) say what a pool holds and which parts of it are handed out. A program
 * calls; whoever wants to know attaches. With nobody attached a call costs about a nanosecond and does
 * nothing.
 *
 * This header works in two forms, in C99 and C++11 and later:
 *
 *   by itself        every function is static inline and finds a tool at run time. Needs -ldl on old systems,
 * and no library. Any number of translation units, C and C++ mixed, may include it. with a library   define
 * MSTX_NO_IMPL and link libms_tools_ext.so. A tool defines it too: it needs only the types.
 *
 * MSTX_DISABLE keeps the functions and removes what they do.
 */
#ifndef MSTX_MS_TOOLS_EXT_H
#define MSTX_MS_TOOLS_EXT_H

#include <stddef.h>
#include <stdint.h>

#include "mstx_detail/mstx_stream.h"

#ifndef MSTX_DECLSPEC
#ifdef MSTX_NO_IMPL
#define MSTX_DECLSPEC
#else
#define MSTX_DECLSPEC inline static
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MSTX_SUCCESS 0
#define MSTX_FAIL 1

/* What mstxGetToolId may answer. */
#define MSTX_TOOL_INVALID_ID 0x0
#define MSTX_TOOL_MSPROF_ID 0x1000
#define MSTX_TOOL_MSOPPROF_ID 0x1001
#define MSTX_TOOL_MSSANITIZER_ID 0x1002
#define MSTX_TOOL_MSLEAKS_ID 0x1003

/* An open range. 0 is no range: the start failed, or nobody listens. */
#define MSTX_INVALID_RANGE_ID 0
typedef uint64_t mstxRangeId;

/* A domain. NULL is the domain that everybody shares. */
struct mstxDomainRegistration_st;
typedef struct mstxDomainRegistration_st mstxDomainRegistration_t;
typedef mstxDomainRegistration_t* mstxDomainHandle_t;

/* Marks a moment. With a stream, the moment also on the device when the stream gets there; with NULL, on the
 * host only. */
MSTX_DECLSPEC void mstxMarkA(const char* message, aclrtStream stream);

/* Opens a range; any thread may close it. */
MSTX_DECLSPEC mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream);
MSTX_DECLSPEC void mstxRangeEnd(mstxRangeId id);

/* Stores which tool listens, 0 if none does or it does not say. */
MSTX_DECLSPEC void mstxGetToolId(uint64_t* id);

/* A name of letters, digits and underscores. The same name is the same domain. NULL: it was refused, or
 * nobody listens. */
MSTX_DECLSPEC mstxDomainHandle_t mstxDomainCreateA(const char* name);
MSTX_DECLSPEC void mstxDomainDestroy(mstxDomainHandle_t domain);

MSTX_DECLSPEC void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream);
MSTX_DECLSPEC mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message,
                                                aclrtStream stream);
MSTX_DECLSPEC void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);

#ifdef __cplusplus
}
#endif

#include "ms_tools_ext_mem.h"

/* Lets the detail headers tell this door from a direct include. */
#define MSTX_IMPL_GUARD
#include "mstx_detail/mstx_types.h"
#ifndef MSTX_NO_IMPL
#include "mstx_detail/mstx_impl.h"
#include "mstx_detail/mstx_impl_core.h"
#endif
#undef MSTX_IMPL_GUARD

#endif
