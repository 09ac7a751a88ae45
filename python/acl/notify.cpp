// SPDX-License-Identifier: Apache-2.0
// Notifies, and events between processes.

#include <pybind11/stl.h>

#include <cstring>
#include <vector>

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple export_notify(uint64_t notify, uint64_t flags) {
  char key[65] = "";
  const int ret =
      unlocked([&] { return aclrtNotifyGetExportKey(to_c<aclrtNotify>(notify), key, sizeof key, flags); });
  return py::make_tuple(std::string(key), ret);
}

py::tuple import_notify(const std::string& key, uint64_t flags) {
  aclrtNotify notify = nullptr;
  const int ret = unlocked([&] { return aclrtNotifyImportByKey(&notify, key.c_str(), flags); });
  return py::make_tuple(to_python(notify), ret);
}

int allow(uint64_t notify, std::vector<int32_t> pids) {
  return unlocked(
      [&] { return aclrtNotifySetImportPid(to_c<aclrtNotify>(notify), pids.data(), pids.size()); });
}

int allow_on_servers(uint64_t notify, const py::list& list) {
  ServerPids servers(list);
  return unlocked([&] {
    return aclrtNotifySetImportPidInterServer(to_c<aclrtNotify>(notify), servers.data(), servers.size());
  });
}

int reset_batch(const std::vector<uint64_t>& notifies) {
  std::vector<aclrtNotify> list;
  for (const uint64_t notify : notifies) list.push_back(to_c<aclrtNotify>(notify));
  return aclrtNotifyBatchReset(list.data(), list.size());
}

int change_counter(uint64_t notify, uint64_t stream, int32_t mode, uint32_t value) {
  aclrtCntNotifyRecordInfo info{static_cast<aclrtCntNotifyRecordMode>(mode), value};
  return aclrtCntNotifyRecord(to_c<aclrtCntNotify>(notify), to_c<aclrtStream>(stream), &info);
}

int await_counter(uint64_t notify, uint64_t stream, int32_t mode, uint32_t value, uint32_t timeout,
                  bool clear) {
  aclrtCntNotifyWaitInfo info{
      static_cast<aclrtCntNotifyWaitMode>(mode), value, timeout, static_cast<uint8_t>(clear), {}};
  return aclrtCntNotifyWaitWithTimeout(to_c<aclrtCntNotify>(notify), to_c<aclrtStream>(stream), &info);
}

py::tuple event_handle(uint64_t event) {
  aclrtIpcEventHandle handle{};
  const int ret = unlocked([&] { return aclrtIpcGetEventHandle(to_c<aclrtEvent>(event), &handle); });
  return py::make_tuple(py::bytes(handle.reserved, sizeof handle.reserved), ret);
}

py::tuple open_event(const std::string& bytes) {
  aclrtIpcEventHandle handle{};
  if (bytes.size() != sizeof handle.reserved) throw py::value_error("a handle has 64 bytes");
  std::memcpy(handle.reserved, bytes.data(), bytes.size());
  aclrtEvent event = nullptr;
  const int ret = unlocked([&] { return aclrtIpcOpenEventHandle(handle, &event); });
  return py::make_tuple(to_python(event), ret);
}

}  // namespace

void add_notify(Group& rt) {
  const auto notify = "notify"_a;
  const auto stream = "stream"_a;
  rt.def("create_notify", First<aclrtCreateNotify>::call, "flag"_a, ReleaseIfWanted(), "(notify, ret).");
  rt.def("destroy_notify", Ret<aclrtDestroyNotify>::call, notify, ReleaseIfWanted(), "Ends a notify.");
  rt.def("record_notify", Ret<aclrtRecordNotify>::call, notify, stream, ReleaseIfWanted(),
         "Sets the notify once the stream gets there.");
  rt.def("wait_and_reset_notify", Ret<aclrtWaitAndResetNotify>::call, notify, stream, "timeout"_a,
         ReleaseIfWanted(),
         "Makes the stream wait until the notify is set, and takes it; seconds, 0 for ever.");
  rt.def("get_notify_id", Last<aclrtGetNotifyId>::call, notify, ReleaseIfWanted(), "(notify_id, ret).");
  rt.def("notify_batch_reset", reset_batch, "notifies"_a, ReleaseIfWanted(), "Takes back what was set.");
  rt.def("notify_get_export_key", export_notify, notify, "flags"_a, "(key, ret): text for other processes.");
  rt.def("notify_import_by_key", import_notify, "key"_a, "flags"_a,
         "(notify, ret): one to be recorded here.");
  rt.def("notify_set_import_pid", allow, notify, "pids"_a, "Lets processes import the notify.");
  rt.def("notify_set_import_pid_inter_server", allow_on_servers, notify, "server_pids"_a,
         "The same by server: [{'sdid': of the importing device, 'pid': [...]}, ...].");
  rt.def("cnt_notify_create", First<aclrtCntNotifyCreate>::call, "flag"_a, ReleaseIfWanted(),
         "(notify, ret).");
  rt.def("cnt_notify_destroy", Ret<aclrtCntNotifyDestroy>::call, notify, ReleaseIfWanted(), "Ends it.");
  rt.def("cnt_notify_record", change_counter, notify, stream, "mode"_a, "value"_a, ReleaseIfWanted(),
         "Sets (0), adds (1), ors (2) or ands (4) once the stream gets there.");
  rt.def("cnt_notify_wait_with_timeout", await_counter, notify, stream, "mode"_a, "value"_a, "timeout"_a,
         "is_clear"_a, ReleaseIfWanted(),
         "Makes the stream wait until the number is less (0), equal (1), greater (2), not less (3), or has "
         "bits (4).");
  rt.def("cnt_notify_reset", Ret<aclrtCntNotifyReset>::call, notify, stream, ReleaseIfWanted(), "Sets 0.");
  rt.def("cnt_notify_get_id", Last<aclrtCntNotifyGetId>::call, notify, ReleaseIfWanted(),
         "(notify_id, ret).");
  rt.def("ipc_get_event_handle", event_handle, "event"_a, "(handle, ret): 64 bytes for other processes.");
  rt.def("ipc_open_event_handle", open_event, "handle"_a, "(event, ret): an event of another process.");
}

}  // namespace plat::acl_python
