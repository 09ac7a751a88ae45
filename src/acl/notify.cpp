// SPDX-License-Identifier: Apache-2.0
// Notifies.
#include "acl/acl_rt_notify.h"

#include <cstring>
#include <vector>

#include "acl/current.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::Notify;
using plat::stream::NotifyId;
using plat::stream::NotifyUse;
using plat::stream::StreamId;

namespace {

Result<> want_feature(bool there, const Runtime& runtime, const char* what) {
  if (there) return {};
  return fail(RuleId::ProductSupport, "", "{} has no {}", runtime.node.product().soc_name, what);
}

Result<> want_flags(uint64_t flags, uint64_t known, const char* parameter) {
  if ((flags & ~known) == 0) return {};
  return fail(RuleId::NotifyFlags, parameter, "{} is {:#x}", parameter, flags);
}

Result<NotifyId> create(Runtime& runtime, NotifyUse use) {
  PLAT_TRY(runtime.streams.contexts().current_id());
  PLAT_TRY(want_feature(runtime.node.product().notifies_max > 0, runtime, "notifies"));
  return runtime.streams.notifies().create(use);
}

}  // namespace

extern "C" {

aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  return entry("aclrtCreateNotify", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    PLAT_TRY(want_flags(flag, ACL_NOTIFY_DEVICE_USE_ONLY, "flag"));
    PLAT_ASSIGN(id, create(runtime, flag == 0 ? NotifyUse::Plain : NotifyUse::DeviceOnly));
    *notify = handle_of(id);
    return {};
  });
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
  return entry("aclrtDestroyNotify", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    return runtime.streams.notifies().destroy(stream::id_of<NotifyId>(notify), false);
  });
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  return entry("aclrtRecordNotify", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    return runtime.streams.notifies().record(stream::id_of<NotifyId>(notify), false,
                                             stream::id_of<StreamId>(stream), Notify::Change::Set, 1);
  });
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
  return entry("aclrtWaitAndResetNotify", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    return runtime.streams.notifies().wait(stream::id_of<NotifyId>(notify), false,
                                           stream::id_of<StreamId>(stream), {}, timeout);
  });
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t* notifyId) {
  return entry("aclrtGetNotifyId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    PLAT_TRY(want(notifyId, "notifyId"));
    PLAT_ASSIGN(number, runtime.streams.notifies().number(stream::id_of<NotifyId>(notify), false));
    *notifyId = number;
    return {};
  });
}

aclError aclrtNotifyBatchReset(aclrtNotify* notifies, size_t num) {
  return entry("aclrtNotifyBatchReset", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notifies, "notifies"));
    const auto count = static_cast<uint32_t>(num);
    if (count == 0) return fail(RuleId::NotifyCount, "num", "num is {}", num);
    PLAT_TRY(want_feature(runtime.node.product().hardware_scheduler, runtime, "reset of many notifies"));
    for (uint32_t i = 0; i < count; ++i)
      PLAT_TRY(runtime.streams.notifies().reset(stream::id_of<NotifyId>(notifies[i])));
    return {};
  });
}

aclError aclrtNotifyGetExportKey(aclrtNotify notify, char* key, size_t len, uint64_t flags) {
  return entry("aclrtNotifyGetExportKey", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    PLAT_TRY(want(key, "key"));
    PLAT_TRY(runtime.streams.notifies().check(stream::id_of<NotifyId>(notify)));
    if (len <= stream::kNotifyKeyLength)
      return fail(RuleId::NotifyKeyRoom, "len", "len is {}, {} are needed", len,
                  stream::kNotifyKeyLength + 1);
    PLAT_TRY(want_feature(runtime.node.product().notify_keys, runtime, "notifies between processes"));
    PLAT_TRY(want_flags(flags, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION, "flags"));
    PLAT_ASSIGN(text, runtime.streams.notifies().export_key(stream::id_of<NotifyId>(notify), flags != 0));
    std::memcpy(key, text.c_str(), text.size() + 1);
    return {};
  });
}

aclError aclrtNotifyImportByKey(aclrtNotify* notify, const char* key, uint64_t flags) {
  return entry("aclrtNotifyImportByKey", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    PLAT_TRY(want(key, "key"));
    PLAT_TRY(
        want_flags(static_cast<uint32_t>(flags), ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS | 1, "flags"));
    PLAT_TRY(runtime.streams.contexts().current_id());
    // A text that does not end within its length is no key, and is not read any further.
    const size_t length = strnlen(key, stream::kNotifyKeyLength + 1);
    PLAT_ASSIGN(id, runtime.streams.notifies().import_key({key, length}, runtime.node.bare_pid()));
    if ((flags & ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) != 0) {
      PLAT_ASSIGN(device, acl::current_device(runtime));
      PLAT_ASSIGN(creator, runtime.streams.notifies().device_of(id));
      acl::enable_peer(runtime, device, static_cast<uint32_t>(creator));
    }
    *notify = handle_of(id);
    return {};
  });
}

aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t* pid, size_t num) {
  return entry("aclrtNotifySetImportPid", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(notify, "notify"));
    PLAT_TRY(want(pid, "pid"));
    PLAT_TRY(want_feature(runtime.node.product().notify_keys, runtime, "notifies between processes"));
    PLAT_TRY(runtime.streams.notifies().check(stream::id_of<NotifyId>(notify)));
    const auto count = static_cast<int32_t>(num);
    if (count <= 0) return fail(RuleId::NotifyCount, "num", "num is {}", num);
    return runtime.streams.notifies().allow(stream::id_of<NotifyId>(notify),
                                            {pid, static_cast<size_t>(count)});
  });
}

aclError aclrtNotifySetImportPidInterServer(aclrtNotify notify, aclrtServerPid* serverPids, size_t num) {
  return entry("aclrtNotifySetImportPidInterServer", [&](Runtime& runtime) -> Result<> {
    if (notify == nullptr || serverPids == nullptr || num == 0)
      return fail(RuleId::NotifyCount, "serverPids", "notify is {}, serverPids is {}, num is {}",
                  fmt::ptr(notify), fmt::ptr(serverPids), num);
    const device::Config& config = runtime.node.config();
    std::vector<int32_t> pids;
    for (size_t i = 0; i < num; ++i) {
      if (serverPids[i].pid == nullptr || serverPids[i].num != 1)
        return fail(RuleId::NotifyCount, "serverPids", "entry {} has {} processes, and one is wanted", i,
                    serverPids[i].pid == nullptr ? 0 : serverPids[i].num);
      pids.push_back(*serverPids[i].pid);
    }
    PLAT_TRY(want_feature(config.server != device::kNoServer, runtime, "place in a pod of servers"));
    for (size_t i = 0; i < num; ++i)
      PLAT_TRY(want_feature(device::server_of(serverPids[i].sdid) == config.server, runtime,
                            "notifies between servers here"));
    return runtime.streams.notifies().allow(stream::id_of<NotifyId>(notify), pids);
  });
}

}  // extern "C"
