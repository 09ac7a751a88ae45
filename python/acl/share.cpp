// SPDX-License-Identifier: Apache-2.0
// Physical memory shared with other processes by shareable handle.

#include <cstring>

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

// What a typed handle is made of: a number, or the bytes of a fabric handle.
union Shareable {
  uint64_t number;
  aclrtMemFabricHandle fabric;
};

bool is_fabric(int32_t type) { return type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC; }

Shareable shareable_of(const py::object& value, int32_t type) {
  Shareable shareable{};
  if (!is_fabric(type)) {
    shareable.number = unsigned_integer(value, "shareable_handle");
    return shareable;
  }
  if (!py::isinstance<py::bytes>(value)) throw py::type_error("a fabric handle must be bytes");
  const auto bytes = value.cast<std::string>();
  if (bytes.size() != sizeof(shareable.fabric)) throw py::value_error("a fabric handle has 128 bytes");
  std::memcpy(&shareable.fabric, bytes.data(), bytes.size());
  return shareable;
}

py::object to_object(const Shareable& shareable, int32_t type) {
  if (!is_fabric(type)) return py::int_(shareable.number);
  return py::bytes(reinterpret_cast<const char*>(shareable.fabric.data), sizeof(shareable.fabric.data));
}

int set_share_pids(uint64_t shareable, const py::list& list) {
  std::vector<int32_t> pids = pids_of(list);
  return unlocked([&] { return aclrtMemSetPidToShareableHandle(shareable, pids.data(), pids.size()); });
}

py::tuple export_v2(uint64_t handle, uint64_t flags, int32_t type) {
  Shareable shareable{};
  const int ret = unlocked([&] {
    return aclrtMemExportToShareableHandleV2(to_c<aclrtDrvMemHandle>(handle), flags,
                                             static_cast<aclrtMemSharedHandleType>(type), &shareable);
  });
  return py::make_tuple(to_object(shareable, type), ret);
}

int set_share_pids_v2(const py::object& value, int32_t type, const py::list& list) {
  Shareable shareable = shareable_of(value, type);
  std::vector<int32_t> pids = pids_of(list);
  return unlocked([&] {
    return aclrtMemSetPidToShareableHandleV2(&shareable, static_cast<aclrtMemSharedHandleType>(type),
                                             pids.data(), pids.size());
  });
}

py::tuple import_v2(const py::object& value, int32_t type, uint64_t flags) {
  Shareable shareable = shareable_of(value, type);
  aclrtDrvMemHandle handle = nullptr;
  const int ret = unlocked([&] {
    return aclrtMemImportFromShareableHandleV2(&shareable, static_cast<aclrtMemSharedHandleType>(type), flags,
                                               &handle);
  });
  return py::make_tuple(to_python(handle), ret);
}

}  // namespace

void add_share(Group& rt) {
  const auto handle = "handle"_a, shareable = "shareable_handle"_a, type = "share_type"_a, flags = "flags"_a;
  rt.def(
      "mem_export_to_shareable_handle", Last<aclrtMemExportToShareableHandle>::call, handle, "handle_type"_a,
      flags, Release(),
      R"((shareable_handle, ret): a number by which another process imports the memory. handle_type is 0; flags 1
needs no whitelist.)");
  rt.def("mem_set_pid_to_shareable_handle", set_share_pids, shareable, "pids"_a,
         "Lets the processes of a list import; name each as its device_get_bare_tgid does.");
  rt.def("mem_import_from_shareable_handle", Last<aclrtMemImportFromShareableHandle>::call, shareable,
         "device_id"_a, Release(), "(handle, ret): a handle here for memory that another process exported.");
  rt.def("mem_export_to_shareable_handle_v2", export_v2, handle, flags, type,
         "(shareable_handle, ret): an int for ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, bytes for FABRIC.");
  rt.def("mem_set_pid_to_shareable_handle_v2", set_share_pids_v2, shareable, type, "pids"_a,
         "The whitelist of a typed handle.");
  rt.def("mem_import_from_shareable_handle_v2", import_v2, shareable, type, flags,
         "(handle, ret): a typed handle on the current device. flags is 0.");
}

}  // namespace plat::acl_python
