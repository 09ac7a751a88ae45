// SPDX-License-Identifier: Apache-2.0
// IPC keys of aclrtMalloc blocks and of mappings.
#include "acl/acl_rt_ipc.h"

#include <climits>
#include <vector>

#include "acl/current.h"
#include "acl/entry.h"
#include "device/super_pod.h"
#include "share/shareable.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

constexpr uint64_t kLastLink = 3;  // UB by several ports

// In which pages the memory lies. Media memory is of one process, and a pool uses its memory again without
// asking who else sees it.
Result<uint64_t> want_shareable(Runtime& runtime, Va va) {
  const auto refuse = [&](const char* what) {
    return fail(RuleId::IpcMemory, "devPtr", "{:#x} is {}", va.value, what);
  };
  const bool valid = va.value >> core::kAddressBits == 0;
  const auto block = valid ? runtime.heap.find(va) : std::nullopt;
  if (block && (block->tag.family == malloc::Family::Media || block->tag.family == malloc::Family::MediaMpi))
    return refuse("media memory");
  if (!block && (!valid || !runtime.locator.is_client_mapping(va)))
    return refuse("in no block of aclrtMalloc and in no mapping");
  if (const auto pages = runtime.locator.page_bytes(va)) return *pages;
  return refuse("not allocated any more");
}

// The pids of several servers, all of which must be this one: a key is imported where it was exported.
Result<std::vector<int32_t>> pids_of_this_server(Runtime& runtime, const aclrtServerPid* servers,
                                                 size_t count) {
  const device::Config& config = runtime.node.config();
  if (!config.product->cross_server || config.server == device::kNoServer)
    return fail(RuleId::IpcServers, "serverPids", "{} is no server of a super-pod here",
                config.product->soc_name);
  std::vector<int32_t> pids;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t server = device::server_of(servers[i].sdid);
    if (server != config.server)
      return fail(RuleId::IpcServers, fmt::format("serverPids[{}].sdid", i),
                  "sdid {:#x} is of server {}, this is server {}", servers[i].sdid, server, config.server);
    pids.insert(pids.end(), servers[i].pid, servers[i].pid + (servers[i].num & INT32_MAX));
  }
  return pids;
}

}  // namespace

extern "C" {

aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
  return entry("aclrtIpcMemGetExportKey", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    PLAT_TRY(want(key, "key"));
    if (size == 0 || len == 0 || flags > share::kNoPidValidation)
      return fail(RuleId::IpcArguments,
                  size == 0  ? "size"
                  : len == 0 ? "len"
                             : "flags",
                  "size is {}, len is {}, flags is {}", size, len, flags);
    PLAT_TRY(acl::current_device(runtime));
    if (len < share::kKeyLength + 1)
      return fail(RuleId::IpcArguments, "len", "len is {}, a key takes {} bytes", len, share::kKeyLength + 1);
    PLAT_ASSIGN(page_bytes, want_shareable(runtime, va_of(devPtr)));
    PLAT_ASSIGN(text, runtime.ipc.export_range(va_of(devPtr), size, flags, page_bytes));
    key[text.copy(key, share::kKeyLength)] = 0;
    return {};
  });
}

aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  return entry("aclrtIpcMemSetImportPid", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(key, "key"));
    PLAT_TRY(want(pid, "pid"));
    if (static_cast<int32_t>(num) <= 0) return fail(RuleId::IpcArguments, "num", "num is {}", num);
    PLAT_TRY(acl::current_device(runtime));
    return runtime.ipc.allow(key, {pid, num});
  });
}

aclError aclrtIpcMemImportPidInterServer(const char* key, aclrtServerPid* serverPids, size_t num) {
  return entry("aclrtIpcMemImportPidInterServer", [&](Runtime& runtime) -> Result<> {
    if (key == nullptr || serverPids == nullptr || num == 0)
      return fail(RuleId::IpcArguments,
                  key == nullptr          ? "key"
                  : serverPids == nullptr ? "serverPids"
                                          : "num",
                  "key is {}, serverPids is {}, num is {}", fmt::ptr(key), fmt::ptr(serverPids), num);
    for (size_t i = 0; i < num; ++i)
      if (serverPids[i].pid == nullptr)
        return fail(RuleId::IpcArguments, fmt::format("serverPids[{}].pid", i), "pid is null");
    PLAT_TRY(acl::current_device(runtime));
    PLAT_ASSIGN(pids, pids_of_this_server(runtime, serverPids, num));
    return runtime.ipc.allow(key, pids);
  });
}

aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  return entry("aclrtIpcMemImportByKey", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    PLAT_TRY(want(key, "key"));
    if (flags > 1) return fail(RuleId::IpcArguments, "flags", "flags is {}", flags);
    PLAT_ASSIGN(device, acl::current_device(runtime));
    PLAT_ASSIGN(address, runtime.ipc.import_key(key));
    if (flags == 1) acl::enable_peer(runtime, device, runtime.vmm.space().entry(address).bank().value);
    *devPtr = pointer_of(address);
    return {};
  });
}

aclError aclrtIpcMemSetAttr(const char* key, aclrtIpcMemAttrType type, uint64_t attr) {
  return entry("aclrtIpcMemSetAttr", [&](Runtime& runtime) -> Result<> {
    if (key == nullptr || type != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK || attr > kLastLink)
      return fail(RuleId::IpcArguments,
                  key == nullptr                            ? "key"
                  : type != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK ? "type"
                                                            : "attr",
                  "key is {}, type is {}, attr is {}", fmt::ptr(key), static_cast<int>(type), attr);
    return runtime.ipc.set_link(key, attr);
  });
}

aclError aclrtIpcMemClose(const char* key) {
  return entry("aclrtIpcMemClose", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(key, "key"));
    PLAT_TRY(acl::current_device(runtime));
    return runtime.ipc.close(key);
  });
}

}  // extern "C"
