// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reserve, allocate, map, unmap, free, release, access and queries.
#include "acl/acl_rt_vmm.h"

#include "acl/current.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::acl::want_zero;
using plat::vmm::PhysicalHandle;

namespace {

[[gnu::always_inline]] inline Result<> map_arguments(Runtime& runtime, void* virPtr, size_t size,
                                                     aclrtDrvMemHandle handle, uint64_t flags) {
  PLAT_TRY(want(virPtr, "virPtr"));
  PLAT_TRY(want(handle, "handle"));
  PLAT_TRY(want_size(size, "size"));
  PLAT_TRY(want_zero(flags, "flags"));
  return acl::want_virtual_memory(runtime);
}

[[gnu::always_inline]] inline Result<> map_memory(Runtime& runtime, Va start, size_t size, size_t offset,
                                                  PhysicalHandle handle, bool grant_owner) {
  auto mapped = runtime.vmm.map(start, size, offset, handle, grant_owner);
  if (!mapped && mapped.error().rule == RuleId::MapOutside && runtime.hosts.find(start))
    return fail(RuleId::MapKind, "virPtr",
                "{:#x} lies in host memory of aclrtMallocHost or aclrtHostRegister", start.value);
  return mapped;
}

}  // namespace

extern "C" {

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                uint64_t flags) {
  return entry("aclrtReserveMemAddress", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(virPtr, "virPtr"));
    PLAT_TRY(want_size(size, "size"));
    if (flags > 1)
      return fail(RuleId::ArgReserved, "flags", "flags is {}, only 0 and 1 (huge pages) are known", flags);
    if (alignment != 0) return fail(RuleId::ReserveAlignment, "alignment", "alignment is {}", alignment);
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_ASSIGN(start, runtime.vmm.reserve(size, va_of(expectPtr), flags == 1));
    *virPtr = pointer_of(start);
    return {};
  });
}

aclError aclrtReserveMemAddressNoUCMemory(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                          uint64_t flags) {
  return entry("aclrtReserveMemAddressNoUCMemory", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(virPtr, "virPtr"));
    PLAT_TRY(want_size(size, "size"));
    // Callers of today pass either; neither means anything.
    if (flags > 1) return fail(RuleId::ArgReserved, "flags", "flags is {}, only 0 and 1 are known", flags);
    if (alignment != 0) return fail(RuleId::ReserveAlignment, "alignment", "alignment is {}", alignment);
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_ASSIGN(start, runtime.vmm.reserve_cross_server(size, va_of(expectPtr)));
    *virPtr = pointer_of(start);
    return {};
  });
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  return entry("aclrtReleaseMemAddress", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(virPtr, "virPtr"));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return runtime.vmm.release(va_of(virPtr));
  });
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop,
                             uint64_t flags) {
  return entry("aclrtMallocPhysical", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want(prop, "prop"));
    PLAT_TRY(want_size(size, "size"));
    PLAT_TRY(want_zero(flags, "flags"));
    PLAT_TRY(vmm::check_arguments(*prop));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    if (prop->location.type == ACL_MEM_LOCATION_TYPE_HOST_NUMA) {  // the only place that wants a context
      PLAT_TRY(vmm::resolve(runtime.node, *prop));
      PLAT_TRY(acl::current_device(runtime));
    }
    PLAT_ASSIGN(created, runtime.vmm.create(size, *prop));
    *handle = created.opaque();
    return {};
  });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return entry("aclrtFreePhysical", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return runtime.vmm.free(PhysicalHandle::of(handle));
  });
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  return acl::quick_entry("aclrtMapMem", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(map_arguments(runtime, virPtr, size, handle, flags));
    return map_memory(runtime, va_of(virPtr), size, offset, PhysicalHandle::of(handle), true);
  });
}

aclError aclrtMemMapNoAccess(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                             uint64_t flags) {
  return entry("aclrtMemMapNoAccess", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(map_arguments(runtime, virPtr, size, handle, flags));
    return map_memory(runtime, va_of(virPtr), size, offset, PhysicalHandle::of(handle), false);
  });
}

aclError aclrtUnmapMem(void* virPtr) {
  return acl::quick_entry("aclrtUnmapMem", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(virPtr, "virPtr"));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return runtime.vmm.unmap(va_of(virPtr));
  });
}

aclError aclrtMemSetAccess(void* virPtr, size_t size, aclrtMemAccessDesc* desc, size_t count) {
  return entry("aclrtMemSetAccess", [&](Runtime& runtime) -> Result<> {
    if (virPtr == nullptr || desc == nullptr || size == 0 || count == 0)
      return fail(RuleId::AccessArguments, "desc", "virPtr is {}, size is {}, desc is {}, count is {}",
                  fmt::ptr(virPtr), size, fmt::ptr(desc), count);
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return runtime.vmm.set_access(va_of(virPtr), size, {desc, count});
  });
}

aclError aclrtMemGetAccess(void* virPtr, aclrtMemLocation* location, uint64_t* flag) {
  return entry("aclrtMemGetAccess", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(virPtr, "virPtr"));
    PLAT_TRY(want(location, "location"));
    PLAT_TRY(want(flag, "flag"));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_ASSIGN(granted, runtime.vmm.has_access(va_of(virPtr), *location));
    *flag = granted ? ACL_RT_MEM_ACCESS_FLAGS_READWRITE : ACL_RT_MEM_ACCESS_FLAGS_NONE;
    return {};
  });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                          size_t* granularity) {
  return entry("aclrtMemGetAllocationGranularity", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(prop, "prop"));
    PLAT_TRY(want(granularity, "granularity"));
    PLAT_TRY(vmm::check_attribute(*prop));
    if (prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE)
      PLAT_TRY(runtime.node.physical_id(prop->location.id, "prop->location.id"));
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM && option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      return fail(RuleId::GranularityOption, "option", "option is {}", static_cast<int>(option));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_ASSIGN(bytes, runtime.vmm.granularity(*prop));
    *granularity = bytes;
    return {};
  });
}

aclError aclrtMemRetainAllocationHandle(void* virPtr, aclrtDrvMemHandle* handle) {
  return entry("aclrtMemRetainAllocationHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(virPtr, "virPtr"));
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_ASSIGN(retained, runtime.vmm.retain(va_of(virPtr)));
    *handle = retained.opaque();
    return {};
  });
}

aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle, aclrtPhysicalMemProp* prop) {
  return entry("aclrtMemGetAllocationPropertiesFromHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want(prop, "prop"));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_ASSIGN(found, runtime.vmm.properties(PhysicalHandle::of(handle)));
    *prop = found;
    return {};
  });
}

aclError aclrtMemMapSelectedLink(void* virPtrDst, size_t size, void* virPtrSrc, uint32_t linkIdx) {
  return entry("aclrtMemMapSelectedLink", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(virPtrDst, "virPtrDst"));
    PLAT_TRY(want(virPtrSrc, "virPtrSrc"));
    PLAT_TRY(want_size(size, "size"));
    if (linkIdx > 1)
      return fail(RuleId::ArgEnum, "linkIdx", "linkIdx is {}, 0 (SIO) and 1 (HCCS) are known", linkIdx);
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return runtime.vmm.map_selected_link(va_of(virPtrDst), size, va_of(virPtrSrc));
  });
}

aclError aclrtMemMapSetLink(aclrtDrvMemHandle handle, aclrtMemLinkType adviceLink) {
  return entry("aclrtMemMapSetLink", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return runtime.vmm.set_link(PhysicalHandle::of(handle), static_cast<uint32_t>(adviceLink));
  });
}

aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  return entry("aclrtMemGetAddressRange", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    if (pbase == nullptr && psize == nullptr)
      return fail(RuleId::AddressRangeArguments, "pbase", "pbase and psize are null");
    PLAT_ASSIGN(range, runtime.locator.range_around(va_of(ptr)));
    if (pbase != nullptr) *pbase = pointer_of(range.start);
    if (psize != nullptr) *psize = range.size_bytes;
    return {};
  });
}

}  // extern "C"
