// SPDX-License-Identifier: Apache-2.0
/* What Plat's libms_tools_ext.so adds to mstx: several tools at once, tools that come and go while the
 * program runs, and names, resizing, resetting and "this is initialised" for memory.
 *
 * For a program. The calls work in the two forms of ms_tools_ext.h. By itself this header finds the library
 * at run time; where it is not in the process, a call returns PLAT_MSTX_NO_BROKER and does nothing. A tool
 * that does not know an extension is told the nearest thing that mstx has: a resized region is taken back and
 * registered anew, the regions of a heap that is reset are taken back one by one, names and initialised
 * ranges are kept from it.
 *
 * For a tool. The same getter that serves the modules of mstx answers to PLAT_MSTX_MODULE with the slots of
 * platMstxFuncId, all optional. Another mstx answers MSTX_FAIL: a tool that asks loses nothing.
 *
 * Every struct begins with its own size, so that fields can be added.
 */
#ifndef PLAT_MSTX_EXT_H
#define PLAT_MSTX_EXT_H

#include "mstx/ms_tools_ext.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum platMstxResult {
  PLAT_MSTX_OK = 0,
  PLAT_MSTX_INVALID = 1,      /* an argument is NULL, or a handle or reference names nothing that lives */
  PLAT_MSTX_NO_BROKER = 2,    /* Plat's libms_tools_ext.so is not in the process */
  PLAT_MSTX_NO_LISTENER = 3,  /* no tool is attached and the broker does not remember */
  PLAT_MSTX_CANNOT_LOAD = 4,  /* the tool's library does not load */
  PLAT_MSTX_NO_SYMBOL = 5,    /* it has no InitInjectionMstx */
  PLAT_MSTX_TOOL_REFUSED = 6, /* its InitInjectionMstx did not return MSTX_SUCCESS */
  PLAT_MSTX_ATTACHED = 7,     /* it is attached already */
  PLAT_MSTX_TOO_MANY = 8,     /* PLAT_MSTX_TOOLS_MAX tools are attached */
  PLAT_MSTX_BUSY = 9,         /* called by a tool from inside its functions, or by its start for itself */
  PLAT_MSTX_NO_MEMORY = 10
} platMstxResult;

/* ---- Tools ---- */

#define PLAT_MSTX_TOOLS_MAX 8

typedef uint32_t platMstxToolId_t; /* given in order, never again */

typedef struct platMstxToolInfo_t {
  uint32_t structSize;
  platMstxToolId_t id;
  uint64_t toolId; /* what the tool answers to mstxGetToolId, 0 if it does not */
  char name[240];  /* its path, or the name it was attached under; cut to fit */
} platMstxToolInfo_t;

/* Loads a tool and lets it in: from now on it hears every call, after it was told of all domains, heaps and
 * regions that the broker knows to be alive. Calls that change these wait while it is told. outId may be
 * NULL. */
MSTX_DECLSPEC int platMstxAttach(const char* path, platMstxToolId_t* outId);

/* The same for a tool that is in the process already. */
MSTX_DECLSPEC int platMstxAttachFunction(mstxInitInjectionFunc init, const char* name,
                                         platMstxToolId_t* outId);

/* Lets a tool go. When this returns no call is inside it and none will be. Its library is unloaded if it was
 * loaded by path and has a PLAT_MSTX_FUNC_DETACH slot, which is the tool's word that nothing of it keeps
 * running. */
MSTX_DECLSPEC int platMstxDetach(platMstxToolId_t id);

/* Stores up to `capacity` descriptions, in the order in which tools are called, and how many tools there are.
 * Set the structSize of each element first. */
MSTX_DECLSPEC int platMstxListTools(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* outCount);

/* Whether the broker remembers what lives even while no tool listens, so that a later one can be told. Off by
 * default: then a call with no tool costs next to nothing and its handles are NULL, as in any mstx.
 * PLAT_MSTX_REMEMBER=1 in the environment, and the first platMstxAttach or platMstxDetach, turn it on.
 * Turning it off with no tool attached forgets everything. */
MSTX_DECLSPEC int platMstxRemember(int on);

/* ---- Memory ---- */

MSTX_DECLSPEC int platMstxMemHeapName(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name);

/* Takes back every region of a heap at once; the heap stays. */
MSTX_DECLSPEC int platMstxMemHeapReset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);

typedef struct platMstxMemRegionName_t {
  mstxMemRegionRef_t region;
  const char* name;
} platMstxMemRegionName_t;

typedef struct platMstxMemRegionsNameBatch_t {
  uint32_t structSize;
  size_t regionCount;
  platMstxMemRegionName_t const* regionNameArray;
} platMstxMemRegionsNameBatch_t;

MSTX_DECLSPEC int platMstxMemRegionsName(mstxDomainHandle_t domain,
                                         platMstxMemRegionsNameBatch_t const* desc);

/* A region that grows or shrinks in place. Its handle and its start stay. */
typedef struct platMstxMemRegionSize_t {
  mstxMemRegionRef_t region;
  uint64_t size;
} platMstxMemRegionSize_t;

typedef struct platMstxMemRegionsResizeBatch_t {
  uint32_t structSize;
  size_t regionCount;
  platMstxMemRegionSize_t const* regionSizeArray;
} platMstxMemRegionsResizeBatch_t;

MSTX_DECLSPEC int platMstxMemRegionsResize(mstxDomainHandle_t domain,
                                           platMstxMemRegionsResizeBatch_t const* desc);

/* Bytes that were written in a way no tool can see. */
typedef struct platMstxMemInitializedBatch_t {
  uint32_t structSize;
  size_t rangeCount;
  mstxMemVirtualRangeDesc_t const* rangeArray;
} platMstxMemInitializedBatch_t;

MSTX_DECLSPEC int platMstxMemMarkInitialized(mstxDomainHandle_t domain,
                                             platMstxMemInitializedBatch_t const* desc);

/* ---- The tool's side ---- */

/* Far from the modules of mstx, which count up from 1. */
#ifdef __cplusplus
#define PLAT_MSTX_MODULE (static_cast<mstxFuncModule>(0x504c4154))
#else
#define PLAT_MSTX_MODULE ((mstxFuncModule)0x504c4154)
#endif

typedef enum platMstxFuncId {
  PLAT_MSTX_FUNC_INVALID = 0,
  PLAT_MSTX_FUNC_HEAP_NAME = 1,        /* platMstxHeapNameFunc */
  PLAT_MSTX_FUNC_HEAP_RESET = 2,       /* platMstxHeapResetFunc */
  PLAT_MSTX_FUNC_REGIONS_NAME = 3,     /* platMstxRegionsNameFunc */
  PLAT_MSTX_FUNC_REGIONS_RESIZE = 4,   /* platMstxRegionsResizeFunc */
  PLAT_MSTX_FUNC_MARK_INITIALIZED = 5, /* platMstxMarkInitializedFunc */
  PLAT_MSTX_FUNC_REPLAY_BEGIN = 6,     /* platMstxReplayFunc: what follows happened before you came */
  PLAT_MSTX_FUNC_REPLAY_END = 7,       /* platMstxReplayFunc */
  PLAT_MSTX_FUNC_NOTICE = 8, /* platMstxNoticeFunc: a call that the broker could not pass on as it was */
  PLAT_MSTX_FUNC_DETACH = 9, /* platMstxDetachFunc: the last call; end your threads and forget the program */
  PLAT_MSTX_FUNC_SIZE,
  PLAT_MSTX_FUNC_FORCE_INT = 0x7fffffff
} platMstxFuncId;

typedef struct platMstxReplay_t {
  uint32_t structSize;
  uint32_t complete; /* 0: the program registered things that nobody remembered, and may yet take them back */
  uint64_t domainCount;
  uint64_t heapCount;
  uint64_t regionCount;
} platMstxReplay_t;

typedef enum platMstxNoticeCode {
  PLAT_MSTX_NOTICE_NULL_ARGUMENT = 1,  /* a pointer that must not be NULL */
  PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN = 2, /* a domain handle that was never given */
  PLAT_MSTX_NOTICE_UNKNOWN_HEAP = 3,   /* a heap handle that was never given, or whose heap is gone */
  PLAT_MSTX_NOTICE_UNKNOWN_REGION = 4, /* a region handle that was never given */
  PLAT_MSTX_NOTICE_GONE_REGION = 5, /* a region handle whose region is gone; passed on to those who knew it */
  PLAT_MSTX_NOTICE_NO_REGION_AT = 6, /* no region starts at this pointer; passed on */
  PLAT_MSTX_NOTICE_REF_TYPE = 7,     /* neither pointer nor handle */
  PLAT_MSTX_NOTICE_MEM_TYPE = 8      /* a description that is no linear range; passed on, not remembered */
} platMstxNoticeCode;

typedef struct platMstxNotice_t {
  uint32_t structSize;
  uint32_t code;        /* platMstxNoticeCode */
  const char* function; /* the call of the program */
  uint64_t index;       /* which element of the batch */
  uint64_t value;       /* the handle, pointer or type */
} platMstxNotice_t;

typedef void (*platMstxHeapNameFunc)(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name);
typedef void (*platMstxHeapResetFunc)(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
typedef void (*platMstxRegionsNameFunc)(mstxDomainHandle_t domain, platMstxMemRegionsNameBatch_t const* desc);
typedef void (*platMstxRegionsResizeFunc)(mstxDomainHandle_t domain,
                                          platMstxMemRegionsResizeBatch_t const* desc);
typedef void (*platMstxMarkInitializedFunc)(mstxDomainHandle_t domain,
                                            platMstxMemInitializedBatch_t const* desc);
typedef void (*platMstxReplayFunc)(platMstxReplay_t const* replay);
typedef void (*platMstxNoticeFunc)(platMstxNotice_t const* notice);
typedef void (*platMstxDetachFunc)(void); /* NOLINT(modernize-redundant-void-arg): C needs it */

/* ---- How the two meet ---- */

typedef struct platMstxBroker_t {
  size_t structSize;
  int (*attach)(const char* path, platMstxToolId_t* outId);
  int (*attachFunction)(mstxInitInjectionFunc init, const char* name, platMstxToolId_t* outId);
  int (*detach)(platMstxToolId_t id);
  int (*listTools)(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* outCount);
  int (*remember)(int on);
  int (*heapName)(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name);
  int (*heapReset)(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
  int (*regionsName)(mstxDomainHandle_t domain, platMstxMemRegionsNameBatch_t const* desc);
  int (*regionsResize)(mstxDomainHandle_t domain, platMstxMemRegionsResizeBatch_t const* desc);
  int (*markInitialized)(mstxDomainHandle_t domain, platMstxMemInitializedBatch_t const* desc);
} platMstxBroker_t;

/* Exported by the library as platMstxGetBroker, so that one dlsym is enough. */
/* NOLINTNEXTLINE(modernize-redundant-void-arg): C needs it */
typedef platMstxBroker_t const* (*platMstxGetBrokerFunc)(void);
#ifdef MSTX_NO_IMPL
MSTX_DECLSPEC platMstxBroker_t const* platMstxGetBroker(void);
#endif

#ifdef __cplusplus
}
#endif

#ifndef MSTX_NO_IMPL
#include "plat/detail/mstx_ext_impl.h"
#endif

#endif
