// SPDX-License-Identifier: Apache-2.0
// Virtual memory and sharing.
#include "inspect/record/hook.h"

PLAT_HOOK(After, aclrtReserveMemAddress, (void** p, size_t n, size_t alignment, void* expect, uint64_t flags),
          (p, n, alignment, expect, flags), OUT(p), n, alignment, V(expect), flags)
PLAT_HOOK(After, aclrtReserveMemAddressNoUCMemory,
          (void** p, size_t n, size_t alignment, void* expect, uint64_t flags),
          (p, n, alignment, expect, flags), OUT(p), n, alignment, V(expect), flags)
PLAT_HOOK(Before, aclrtReleaseMemAddress, (void* p), (p), V(p))
PLAT_HOOK(After, aclrtMallocPhysical,
          (aclrtDrvMemHandle * handle, size_t n, const aclrtPhysicalMemProp* prop, uint64_t flags),
          (handle, n, prop, flags), OUT(handle), n, prop != nullptr ? V(prop->memAttr) : 0,
          prop != nullptr ? V(prop->location.type) : 0, prop != nullptr ? V(prop->location.id) : 0)
PLAT_HOOK(Before, aclrtFreePhysical, (aclrtDrvMemHandle handle), (handle), V(handle))
PLAT_HOOK(After, aclrtMapMem, (void* p, size_t n, size_t offset, aclrtDrvMemHandle handle, uint64_t flags),
          (p, n, offset, handle, flags), V(p), n, V(handle), offset)
PLAT_HOOK(After, aclrtMemMapNoAccess,
          (void* p, size_t n, size_t offset, aclrtDrvMemHandle handle, uint64_t flags),
          (p, n, offset, handle, flags), V(p), n, V(handle), offset)
PLAT_HOOK(Before, aclrtUnmapMem, (void* p), (p), V(p))
PLAT_HOOK(After, aclrtMemSetAccess, (void* p, size_t n, aclrtMemAccessDesc* desc, size_t count),
          (p, n, desc, count), V(p), n, count)
PLAT_HOOK(After, aclrtMemRetainAllocationHandle, (void* p, aclrtDrvMemHandle* handle), (p, handle), V(p),
          OUT(handle))
PLAT_HOOK(After, aclrtMemMapSelectedLink, (void* p, size_t n, void* source, uint32_t link),
          (p, n, source, link), V(p), n, V(source))
PLAT_HOOK(After, aclrtMemExportToShareableHandle,
          (aclrtDrvMemHandle handle, aclrtMemHandleType type, uint64_t flags, uint64_t* number),
          (handle, type, flags, number), V(handle), OUT(number))
PLAT_HOOK(After, aclrtMemExportToShareableHandleV2,
          (aclrtDrvMemHandle handle, uint64_t flags, aclrtMemSharedHandleType type, void* number),
          (handle, flags, type, number), V(handle), V(type))
PLAT_HOOK(After, aclrtMemImportFromShareableHandle,
          (uint64_t number, int32_t device, aclrtDrvMemHandle* handle), (number, device, handle), OUT(handle),
          number)
