// SPDX-License-Identifier: Apache-2.0
// Shareable handles: export, whitelist, import; the first form and the typed one.
#include "share/shareable.h"

#include <cstring>

#include "acl/acl_rt_vmm.h"
#include "acl/current.h"
#include "acl/entry.h"
#include "share/fabric.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::acl::want_zero;
using plat::vmm::PhysicalHandle;

namespace {

Result<> check_type(aclrtMemSharedHandleType type) {
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT || type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) return {};
  return fail(RuleId::ShareType, "shareType", "shareType is {}", static_cast<int>(type));
}

// The number that a handle of type DEFAULT is.
Result<uint64_t> read_number(const void* shareable) {
  uint64_t number = 0;
  std::memcpy(&number, shareable, sizeof number);
  if (static_cast<uint32_t>(number) == share::kFabricMark)
    return fail(RuleId::ShareType, "shareType", "shareType is DEFAULT, the handle is one of type FABRIC");
  return number;
}

Result<> export_to(Runtime& runtime, aclrtDrvMemHandle handle, uint64_t flags, void* number) {
  PLAT_ASSIGN(exported,
              share::export_share(runtime.vmm, PhysicalHandle::of(handle), flags, share::kNoFabricKey));
  std::memcpy(number, &exported.number, sizeof exported.number);
  return {};
}

// The device that imports may reach the one that has the memory.
Result<> import_from(Runtime& runtime, uint64_t number, uint32_t device, aclrtDrvMemHandle* handle) {
  PLAT_ASSIGN(imported, share::import_handle(runtime.vmm, number, device));
  acl::enable_peer(runtime, device, share::device_of(number));
  *handle = imported.opaque();
  return {};
}

Result<> import_fabric(Runtime& runtime, const void* shareable, uint32_t device, aclrtDrvMemHandle* handle) {
  PLAT_TRY(share::want_fabric(runtime.vmm));
  PLAT_ASSIGN(fabric, share::read_fabric(shareable));
  PLAT_ASSIGN(imported, share::import_fabric(runtime.vmm, fabric, device, *runtime.remote_memory));
  if (fabric.server == runtime.node.config().server) acl::enable_peer(runtime, device, fabric.device);
  *handle = imported.opaque();
  return {};
}

Result<> want_pids(const int32_t* pid, size_t count) {
  PLAT_TRY(want(pid, "pid"));
  return want_size(count, "pidNum");
}

}  // namespace

extern "C" {

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                         uint64_t flags, uint64_t* shareableHandle) {
  return entry("aclrtMemExportToShareableHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    if (handleType != ACL_MEM_HANDLE_TYPE_NONE)
      return fail(RuleId::ArgEnum, "handleType",
                  "handleType is {}, only ACL_MEM_HANDLE_TYPE_NONE (0) is known",
                  static_cast<int>(handleType));
    PLAT_TRY(share::check_flags(flags));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return export_to(runtime, handle, flags, shareableHandle);
  });
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  return entry("aclrtMemSetPidToShareableHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want_pids(pid, pidNum));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return share::allow(runtime.vmm, shareableHandle, {pid, pidNum});
  });
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                           aclrtDrvMemHandle* handle) {
  return entry("aclrtMemImportFromShareableHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_TRY(acl::current_device(runtime));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    return import_from(runtime, shareableHandle, device, handle);
  });
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                           aclrtMemSharedHandleType shareType, void* shareableHandle) {
  return entry("aclrtMemExportToShareableHandleV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    PLAT_TRY(check_type(shareType));
    PLAT_TRY(share::check_flags(flags));
    const bool fabric = shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC;
    if (fabric) PLAT_TRY(acl::current_device(runtime));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    if (!fabric) return export_to(runtime, handle, flags, shareableHandle);
    PLAT_TRY(share::want_fabric(runtime.vmm));
    PLAT_ASSIGN(exported, share::export_fabric(runtime.vmm, PhysicalHandle::of(handle), flags));
    exported.write(shareableHandle);
    runtime.remote_memory->exported();
    return {};
  });
}

aclError aclrtMemSetPidToShareableHandleV2(void* shareableHandle, aclrtMemSharedHandleType shareType,
                                           int32_t* pid, size_t pidNum) {
  return entry("aclrtMemSetPidToShareableHandleV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    PLAT_TRY(want_pids(pid, pidNum));
    PLAT_TRY(check_type(shareType));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    if (shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
      PLAT_TRY(share::want_fabric(runtime.vmm));
      PLAT_ASSIGN(fabric, share::read_fabric(shareableHandle));
      return share::allow_fabric(runtime.vmm, fabric, {pid, pidNum});
    }
    PLAT_ASSIGN(number, read_number(shareableHandle));
    return share::allow(runtime.vmm, number, {pid, pidNum});
  });
}

aclError aclrtMemImportFromShareableHandleV2(void* shareableHandle, aclrtMemSharedHandleType shareType,
                                             uint64_t flags, aclrtDrvMemHandle* handle) {
  return entry("aclrtMemImportFromShareableHandleV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(shareableHandle, "shareableHandle"));
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want_zero(flags, "flags"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    PLAT_TRY(check_type(shareType));
    PLAT_TRY(acl::want_virtual_memory(runtime));
    if (shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC)
      return import_fabric(runtime, shareableHandle, device, handle);
    PLAT_ASSIGN(number, read_number(shareableHandle));
    return import_from(runtime, number, device, handle);
  });
}

}  // extern "C"
