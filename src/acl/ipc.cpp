// SPDX-License-Identifier: Apache-2.0
// IPC keys of aclrtMalloc blocks.
#include "acl/acl_rt_ipc.h"
#include "acl/entry.h"
#include "acl/use.h"
#include "share/shareable.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

// Media memory is of one process, and a pool uses its memory again without asking who else sees it.
Result<> want_shareable(Runtime& runtime, Va va) {
  const auto block = runtime.heap.find(va);
  const bool is_media =
      block && (block->tag.family == memory::Family::Media || block->tag.family == memory::Family::MediaMpi);
  if (block && !is_media) return {};
  return fail(RuleId::IpcMemory, "devPtr", "{:#x} is {}", va.value,
              is_media ? "media memory" : "in no block of aclrtMalloc");
}

}  // namespace

extern "C" {

aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
  return entry("aclrtIpcMemGetExportKey", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    PLAT_TRY(want(key, "key"));
    if (size == 0 || len < share::kKeyLength + 1 || flags > share::kNoPidValidation)
      return fail(RuleId::IpcArguments,
                  size == 0   ? "size"
                  : flags > 1 ? "flags"
                              : "len",
                  "size is {}, len is {}, flags is {}", size, len, flags);
    PLAT_TRY(want_shareable(runtime, va_of(devPtr)));
    PLAT_ASSIGN(text, runtime.ipc.export_range(va_of(devPtr), size, flags));
    key[text.copy(key, share::kKeyLength)] = 0;
    return {};
  });
}

aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  return entry("aclrtIpcMemSetImportPid", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(key, "key"));
    PLAT_TRY(want(pid, "pid"));
    if (num == 0) return fail(RuleId::IpcArguments, "num", "num is 0");
    return runtime.ipc.allow(key, {pid, num});
  });
}

aclError aclrtIpcMemImportPidInterServer(const char* key, aclrtServerPid* serverPids, size_t num) {
  return entry("aclrtIpcMemImportPidInterServer", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(key, "key"));
    PLAT_TRY(want(serverPids, "serverPids"));
    if (num == 0) return fail(RuleId::IpcArguments, "num", "num is 0");
    return fail(RuleId::IpcServers, "serverPids", "processes of {} server(s) were named, this {} has none",
                num, runtime.node.product().soc_name);
  });
}

aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  return entry("aclrtIpcMemImportByKey", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    PLAT_TRY(want(key, "key"));
    if (flags > 1) return fail(RuleId::IpcArguments, "flags", "flags is {}", flags);
    PLAT_ASSIGN(device, acl::current_device(runtime));
    PLAT_ASSIGN(address, runtime.ipc.import_key(key));
    if (flags == 1) acl::enable_peer(runtime, device, runtime.vmm.space().entry(address).bank());
    *devPtr = pointer_of(address);
    return {};
  });
}

aclError aclrtIpcMemSetAttr(const char* key, aclrtIpcMemAttrType type, uint64_t attr) {
  return entry("aclrtIpcMemSetAttr", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(key, "key"));
    if (type != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK)
      return fail(RuleId::ArgEnum, "type", "type is {}", static_cast<int>(type));
    return runtime.ipc.set_link(key, attr);
  });
}

aclError aclrtIpcMemClose(const char* key) {
  return entry("aclrtIpcMemClose", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(key, "key"));
    return runtime.ipc.close(key);
  });
}

}  // extern "C"
