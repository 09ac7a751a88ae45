// SPDX-License-Identifier: Apache-2.0
// Whole blocks of malloc shared with other processes by key.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

constexpr size_t kKeyBytesEnd = 1024;  // pyACL takes no longer buffer

py::tuple export_key(uint64_t address, uint64_t size, size_t length, uint64_t flag) {
  if (length >= kKeyBytesEnd) throw py::value_error("len must be below 1024");
  char key[kKeyBytesEnd] = {};
  const int ret =
      unlocked([&] { return aclrtIpcMemGetExportKey(to_c<void*>(address), size, key, length, flag); });
  return py::make_tuple(py::str(key), ret);
}

int set_pids(const std::string& text, const py::list& list) {
  const std::string key = text_of(text, "key");
  std::vector<int32_t> pids = pids_of(list);
  return unlocked([&] { return aclrtIpcMemSetImportPid(key.c_str(), pids.data(), pids.size()); });
}

int set_server_pids(const std::string& text, const py::list& list) {
  const std::string key = text_of(text, "key");
  ServerPids servers(list);
  return unlocked(
      [&] { return aclrtIpcMemImportPidInterServer(key.c_str(), servers.data(), servers.size()); });
}

py::tuple import_by_key(const std::string& text, uint64_t flag) {
  const std::string key = text_of(text, "key");
  void* address = nullptr;
  const int ret = unlocked([&] { return aclrtIpcMemImportByKey(&address, key.c_str(), flag); });
  return py::make_tuple(to_python(address), ret);
}

int close(const std::string& text) {
  const std::string key = text_of(text, "key");
  return unlocked([&] { return aclrtIpcMemClose(key.c_str()); });
}

int set_attr(const std::string& text, int32_t type, uint64_t attr) {
  const std::string key = text_of(text, "key");
  return unlocked(
      [&] { return aclrtIpcMemSetAttr(key.c_str(), static_cast<aclrtIpcMemAttrType>(type), attr); });
}

}  // namespace

void add_ipc(Group& rt) {
  rt.def("ipc_mem_get_export_key", export_key, "dev_ptr"_a, "size"_a, "len"_a, "flag"_a,
         "(key, ret): exports device memory. len is 65; 1024 and more raise ValueError. flag 1 needs no "
         "whitelist.");
  rt.def("ipc_mem_set_import_pid", set_pids, "key"_a, "pids"_a, "Lets the processes of a list import.");
  rt.def("ipc_mem_import_pid_inter_server", set_server_pids, "key"_a, "server_pids"_a,
         "The same by server: [{'sdid': of the importing device, 'pid': [...]}, ...].");
  rt.def("ipc_mem_import_by_key", import_by_key, "key"_a, "flag"_a,
         "(dev_ptr, ret): maps exported memory here, until ipc_mem_close.");
  rt.def("ipc_mem_close", close, "key"_a, "Ends an export or an import; importers first.");
  rt.def("ipc_mem_set_attr", set_attr, "key"_a, "type"_a, "attr"_a,
         "Over which link memory behind a key is reached: a hint.");
}

}  // namespace plat::acl_python
