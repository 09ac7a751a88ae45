// SPDX-License-Identifier: Apache-2.0
/* What a program and a tool agree on: modules, function ids, and the way a tool gets at the function slots.
 *
 * A tool exports `int InitInjectionMstx(mstxGetModuleFuncTableFunc)`. It asks for the table of each module it
 * serves and stores its functions with *(table[id]) = function. Ids start at 1, so slot 0 is NULL; ids below
 * the count that the getter reports are there, and the table ends with a NULL.
 *
 * Some tools test `count >= id` where `count > id` is right, and one that is newer than this header then
 * stores its function for id == count. That slot is a place where such a store does no harm, not the NULL;
 * the NULL follows it.
 */
#ifndef MSTX_IMPL_GUARD
#error "mstx_types.h belongs to ms_tools_ext.h: include that one"
#endif
#ifndef MSTX_DETAIL_TYPES_H
#define MSTX_DETAIL_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*mstxMarkAFunc)(const char* message, aclrtStream stream);
typedef mstxRangeId (*mstxRangeStartAFunc)(const char* message, aclrtStream stream);
typedef void (*mstxRangeEndFunc)(mstxRangeId id);
typedef void (*mstxGetToolIdFunc)(uint64_t* id);

typedef mstxDomainHandle_t (*mstxDomainCreateAFunc)(const char* name);
typedef void (*mstxDomainDestroyFunc)(mstxDomainHandle_t domain);
typedef void (*mstxDomainMarkAFunc)(mstxDomainHandle_t domain, const char* message, aclrtStream stream);
typedef mstxRangeId (*mstxDomainRangeStartAFunc)(mstxDomainHandle_t domain, const char* message,
                                                 aclrtStream stream);
typedef void (*mstxDomainRangeEndFunc)(mstxDomainHandle_t domain, mstxRangeId id);

typedef mstxMemHeapHandle_t (*mstxMemHeapRegisterFunc)(mstxDomainHandle_t domain,
                                                       mstxMemHeapDesc_t const* desc);
typedef void (*mstxMemHeapUnregisterFunc)(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
typedef void (*mstxMemRegionsRegisterFunc)(mstxDomainHandle_t domain,
                                           mstxMemRegionsRegisterBatch_t const* desc);
typedef void (*mstxMemRegionsUnregisterFunc)(mstxDomainHandle_t domain,
                                             mstxMemRegionsUnregisterBatch_t const* desc);
typedef void (*mstxMemPermissionsAssignFunc)(mstxDomainHandle_t domain,
                                             mstxMemPermissionsAssignBatch_t const* desc);

typedef enum mstxFuncModule {
  MSTX_API_MODULE_INVALID = 0,
  MSTX_API_MODULE_CORE = 1,
  MSTX_API_MODULE_CORE_DOMAIN = 2,
  MSTX_API_MODULE_CORE_MEM = 3,
  MSTX_API_MODULE_SIZE,
  MSTX_API_MODULE_FORCE_INT = 0x7fffffff
} mstxFuncModule;

typedef enum mstxImplCoreFuncId {
  MSTX_API_CORE_INVALID = 0,
  MSTX_API_CORE_MARK_A = 1,
  MSTX_API_CORE_RANGE_START_A = 2,
  MSTX_API_CORE_RANGE_END = 3,
  MSTX_API_CORE_GET_TOOL_ID = 4,
  MSTX_API_CORE_SIZE,
  MSTX_API_CORE_FORCE_INT = 0x7fffffff
} mstxImplCoreFuncId;

typedef enum mstxImplCoreDomainFuncId {
  MSTX_API_CORE2_INVALID = 0,
  MSTX_API_CORE2_DOMAIN_CREATE_A = 1,
  MSTX_API_CORE2_DOMAIN_DESTROY = 2,
  MSTX_API_CORE2_DOMAIN_MARK_A = 3,
  MSTX_API_CORE2_DOMAIN_RANGE_START_A = 4,
  MSTX_API_CORE2_DOMAIN_RANGE_END = 5,
  MSTX_API_CORE2_SIZE,
  MSTX_API_CORE2_FORCE_INT = 0x7fffffff
} mstxImplCoreDomainFuncId;

typedef enum mstxImplCoreMemFuncId {
  MSTX_API_CORE_MEM_INVALID = 0,
  MSTX_API_CORE_MEMHEAP_REGISTER = 1,
  MSTX_API_CORE_MEMHEAP_UNREGISTER = 2,
  MSTX_API_CORE_MEM_REGIONS_REGISTER = 3,
  MSTX_API_CORE_MEM_REGIONS_UNREGISTER = 4,
  MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN = 5,
  MSTX_API_CORE_MEM_SIZE,
  MSTX_API_CORE_MEM_FORCE_INT = 0x7fffffff
} mstxImplCoreMemFuncId;

typedef void (*mstxFuncPointer)(void);   /* NOLINT(modernize-redundant-void-arg): C needs it */
typedef mstxFuncPointer** mstxFuncTable; /* addresses of function slots */

/* MSTX_FAIL for a module that is not there and for NULL outputs. */
typedef int (*mstxGetModuleFuncTableFunc)(mstxFuncModule module, mstxFuncTable* outTable,
                                          unsigned int* outSize);

/* The tool's door. Other than MSTX_SUCCESS: none of the functions that it stored is ever called. */
typedef int (*mstxInitInjectionFunc)(mstxGetModuleFuncTableFunc getFuncTable);

#ifdef __cplusplus
}
#endif

#endif
