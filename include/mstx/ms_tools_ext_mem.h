// SPDX-License-Identifier: Apache-2.0
/* The memory half of mstx: pools ("heaps") and what they hand out ("regions").
 *
 * A heap is memory that a pool has obtained. Registering it withdraws it: from then on only its regions may
 * be used, so a tool can tell a block from the gap beside it. Register the heap after its memory is mapped, a
 * region before its pointer leaves the pool, and take both back before the memory goes.
 */
#ifndef MSTX_MS_TOOLS_EXT_H
/* Included by itself: through the front door, which comes back here once the common types are known. */
#include "ms_tools_ext.h"
#elif !defined(MSTX_MS_TOOLS_EXT_MEM_H)
#define MSTX_MS_TOOLS_EXT_MEM_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MSTX_DETAIL_UNUSED __attribute__((unused))
#define MSTX_DETAIL_EXTENSION __extension__
#else
#define MSTX_DETAIL_UNUSED
#define MSTX_DETAIL_EXTENSION
#endif

/* The domain that everybody shares, by name. */
MSTX_DETAIL_UNUSED static const mstxDomainHandle_t globalDomain = NULL;

struct mstxMemHeap_st;
typedef struct mstxMemHeap_st mstxMemHeap_t;
typedef mstxMemHeap_t* mstxMemHeapHandle_t;

struct mstxMemRegion_st;
typedef struct mstxMemRegion_st mstxMemRegion_t;
typedef mstxMemRegion_t* mstxMemRegionHandle_t;

/* A heap whose bytes may be used only where a region covers them. */
typedef enum mstxMemHeapUsageType { MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR = 0 } mstxMemHeapUsageType;

/* How memory is described: a linear range, as mstxMemVirtualRangeDesc_t. */
typedef enum mstxMemType { MSTX_MEM_TYPE_VIRTUAL_ADDRESS = 0 } mstxMemType;

typedef struct mstxMemVirtualRangeDesc_t {
  uint32_t deviceId;
  void const* ptr;
  uint64_t size;
} mstxMemVirtualRangeDesc_t;

typedef struct mstxMemHeapDesc_t {
  mstxMemHeapUsageType usage;
  mstxMemType type;
  void const* typeSpecificDesc; /* an mstxMemVirtualRangeDesc_t */
} mstxMemHeapDesc_t;

typedef struct mstxMemRegionsRegisterBatch_t {
  mstxMemHeapHandle_t heap; /* NULL: regions of no heap */
  mstxMemType regionType;
  size_t regionCount;
  void const* regionDescArray; /* regionCount times mstxMemVirtualRangeDesc_t */
  mstxMemRegionHandle_t*
      regionHandleArrayOut; /* room for regionCount handles, or NULL: refer to them by pointer */
} mstxMemRegionsRegisterBatch_t;

typedef enum mstxMemRegionRefType {
  MSTX_MEM_REGION_REF_TYPE_POINTER = 0,
  MSTX_MEM_REGION_REF_TYPE_HANDLE = 1
} mstxMemRegionRefType;

typedef struct mstxMemRegionRef_t {
  mstxMemRegionRefType refType;
  MSTX_DETAIL_EXTENSION union { /* one without a name, which C99 does not have */
    void const* pointer;
    mstxMemRegionHandle_t handle;
  };
} mstxMemRegionRef_t;

typedef struct mstxMemRegionsUnregisterBatch_t {
  size_t refCount;
  mstxMemRegionRef_t const* refArray;
} mstxMemRegionsUnregisterBatch_t;

#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_NONE 0x00
#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ 0x01
#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE 0x02
#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED 0x04

typedef struct mstxMemPermissionsAssignRegionsDesc_t {
  uint32_t flags;
  mstxMemRegionRef_t region;
} mstxMemPermissionsAssignRegionsDesc_t;

typedef struct mstxMemPermissionsAssignBatch_t {
  size_t regionCount;
  mstxMemPermissionsAssignRegionsDesc_t const* regionDescArray;
} mstxMemPermissionsAssignBatch_t;

/* Registers a pool. Its memory must exist already. NULL: it was refused, or nobody listens. */
MSTX_DECLSPEC mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain,
                                                      mstxMemHeapDesc_t const* desc);

/* Takes a pool back, and every region that is still in it. */
MSTX_DECLSPEC void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);

/* Registers blocks of a pool, which must lie inside it. With nobody listening the handle array is left as it
 * was. */
MSTX_DECLSPEC void mstxMemRegionsRegister(mstxDomainHandle_t domain,
                                          mstxMemRegionsRegisterBatch_t const* desc);
MSTX_DECLSPEC void mstxMemRegionsUnregister(mstxDomainHandle_t domain,
                                            mstxMemRegionsUnregisterBatch_t const* desc);

/* Says how blocks may be used; they must be registered. */
MSTX_DECLSPEC void mstxMemPermissionsAssign(mstxDomainHandle_t domain,
                                            mstxMemPermissionsAssignBatch_t const* desc);

#ifdef __cplusplus
}
#endif

#endif
