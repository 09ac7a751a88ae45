// SPDX-License-Identifier: Apache-2.0
// Shareable handles: export, whitelist, import; the first form and the typed one.
#include "share/shareable.h"

#include "acl/acl_rt_vmm.h"
#include "acl/entry.h"
#include "acl/use.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::acl::want_zero;
using plat::vmm::PhysicalHandle;

namespace {

Result<> check_type(aclrtMemSharedHandleType type) {
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT) return {};
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC)
    return fail(RuleId::ShareFabric, "shareType", "shareType is ACL_MEM_SHARE_HANDLE_TYPE_FABRIC");
  return fail(RuleId::ShareType, "shareType", "shareType is {}", static_cast<int>(type));
}

Result<> export_to(Runtime& runtime, aclrtDrvMemHandle handle, uint64_t flags, uint64_t* number) {
  PLAT_ASSIGN(exported, share::export_handle(runtime.vmm, PhysicalHandle::of(handle), flags));
  *number = exported;
  return {};
}

// The device that imports may reach the one that has the memory.
Result<> import_from(Runtime& runtime, uint64_t number, uint32_t device, aclrtDrvMemHandle* handle) {
  PLAT_ASSIGN(imported, share::import_handle(runtime.vmm, number, device));
  acl::enable_peer(runtime, device, share::device_of(number));
  *handle = imported.opaque();
  return {};
}

Result<> allow(Runtime& runtime, uint64_t number, int32_t* pid, size_t count) {
  PLAT_TRY(want(pid, "pid"));
  PLAT_TRY(want_size(count, "pidNum"));
  return share::allow(runtime.vmm, number, {pid, count});
}

}  // namespace

extern "C" {

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                         uint64_t flags, uint64_t* shareableHandle) {
  return entry("aclrtMemExportToShareableHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    if (handleType != ACL_MEM_HANDLE_TYPE_NONE)
      return fail(RuleId::ArgEnum, "handleType",
                  "handleType is {}, only ACL_MEM_HANDLE_TYPE_NONE (0) is known",
                  static_cast<int>(handleType));
    return export_to(runtime, handle, flags, shareableHandle);
  });
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  return entry("aclrtMemSetPidToShareableHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return allow(runtime, shareableHandle, pid, pidNum);
  });
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                           aclrtDrvMemHandle* handle) {
  return entry("aclrtMemImportFromShareableHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_TRY(want(handle, "handle"));
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_TRY(acl::current_device(runtime));
    return import_from(runtime, shareableHandle, device, handle);
  });
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                           aclrtMemSharedHandleType shareType, void* shareableHandle) {
  return entry("aclrtMemExportToShareableHandleV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    PLAT_TRY(check_type(shareType));
    return export_to(runtime, handle, flags, static_cast<uint64_t*>(shareableHandle));
  });
}

aclError aclrtMemSetPidToShareableHandleV2(void* shareableHandle, aclrtMemSharedHandleType shareType,
                                           int32_t* pid, size_t pidNum) {
  return entry("aclrtMemSetPidToShareableHandleV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    PLAT_TRY(check_type(shareType));
    return allow(runtime, *static_cast<uint64_t*>(shareableHandle), pid, pidNum);
  });
}

aclError aclrtMemImportFromShareableHandleV2(void* shareableHandle, aclrtMemSharedHandleType shareType,
                                             uint64_t flags, aclrtDrvMemHandle* handle) {
  return entry("aclrtMemImportFromShareableHandleV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(acl::want_virtual_memory(runtime));
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want_zero(flags, "flags"));
    PLAT_TRY(check_type(shareType));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    return import_from(runtime, *static_cast<uint64_t*>(shareableHandle), device, handle);
  });
}

}  // extern "C"
