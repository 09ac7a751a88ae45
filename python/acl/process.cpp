// SPDX-License-Identifier: Apache-2.0
// acl.init and what else concerns the process as a whole.

#include <optional>

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

int init(const std::optional<std::string>& path) {
  if (!path) return unlocked([] { return aclInit(nullptr); });
  const std::string text = text_of(*path, "config_path");
  return unlocked([&] { return aclInit(text.c_str()); });
}

py::tuple finalize_reference() {
  uint64_t count = 0;
  const int ret = unlocked([&] { return aclFinalizeReference(&count); });
  return py::make_tuple(count, ret);
}

// "" when nothing failed so far in this thread.
py::object soc_name() {
  const char* name = aclrtGetSocName();
  if (name == nullptr) return py::none();
  return py::str(name);
}

void app_log(int32_t level, const std::string& function, const std::string& file, uint32_t line,
             const std::string& text) {
  aclAppLog(static_cast<aclLogLevel>(level), function.c_str(), file.c_str(), line, "%s", text.c_str());
}

py::tuple version_text(const std::string& package) {
  std::string name = text_of(package, "pkg_name");
  char text[ACL_PKG_VERSION_MAX_SIZE] = {};
  const int ret = aclsysGetVersionStr(name.data(), text);
  return py::make_tuple(py::str(text), ret);
}

py::tuple version_number(const std::string& package) {
  std::string name = text_of(package, "pkg_name");
  int32_t number = 0;
  const int ret = aclsysGetVersionNum(name.data(), &number);
  return py::make_tuple(number, ret);
}

}  // namespace

void add_process(Group& acl) {
  acl.def(
      "init", init, "config_path"_a = py::none(),
      R"(Initialises ACL, with the path of a JSON file or none. Once for each process: a repeat returns 100002,
which may be ignored.)");
  acl.def("finalize", Ret<aclFinalize>::call, Release(),
          "Tears everything down. Call it after the last device was reset; a repeat returns 100037.");
  acl.def("finalize_reference", finalize_reference,
          "Undoes one init and tears down at the last. Returns (references left, ret).");
  acl.def(
      "get_recent_err_msg", [] { return py::str(aclGetRecentErrMsg()); },
      R"(Why the calling thread's most recent failing call failed: the rule, the argument, the values and the
remedy. Empty when none did.)");
  acl.def("get_soc_name", soc_name, "The SoC that the device plays, or None without a device.");
  acl.def(
      "sys_get_version_str", version_text, "pkg_name"_a,
      "(version, ret) of a package: 'runtime' is the toolkit that is played, 'plat' the software device.");
  acl.def("sys_get_version_num", version_number, "pkg_name"_a,
          "(number, ret): the same as a number that grows.");
  acl.def("app_log", app_log, "level"_a, "function"_a, "file"_a, "line"_a, "text"_a, Release(),
          "Writes a line of the application's own to the log.");
}

}  // namespace plat::acl_python
