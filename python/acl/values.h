// SPDX-License-Identifier: Apache-2.0
// Dictionaries and lists of pyACL, and what they become: a missing key counts as 0, a value of the wrong type
// is a TypeError, one that does not fit a ValueError.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "call.h"

namespace plat::acl_python {

// An int between `low` and `high`; `name` is for the message.
int64_t integer(py::handle value, const char* name, int64_t low, int64_t high);
uint64_t unsigned_integer(py::handle value, const char* name);
// dict[name], or 0.
uint32_t field(const py::dict& dict, const char* name);
py::dict dict_field(const py::dict& dict, const char* name);

aclrtMemLocation location_of(const py::dict& dict);
py::dict to_dict(const aclrtMemLocation& location);

aclrtPhysicalMemProp prop_of(const py::dict& dict);
py::dict to_dict(const aclrtPhysicalMemProp& prop);

// The attributes of an allocation, kept while the call runs. {} is NULL.
class Config {
 public:
  explicit Config(const py::dict& dict);
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  aclrtMallocConfig* get() { return given_ ? &config_ : nullptr; }

 private:
  bool given_;
  std::vector<aclrtMallocAttribute> attributes_;
  aclrtMallocConfig config_{};
};

// A list of process ids.
std::vector<int32_t> pids_of(const py::list& list);

// Processes by server, as [{'sdid': number, 'pid': [...]}, ...], kept while the call runs.
class ServerPids {
 public:
  explicit ServerPids(const py::list& list);
  ServerPids(const ServerPids&) = delete;
  ServerPids& operator=(const ServerPids&) = delete;
  aclrtServerPid* data() { return servers_.data(); }
  size_t size() const { return servers_.size(); }

 private:
  std::vector<std::vector<int32_t>> pids_;
  std::vector<aclrtServerPid> servers_;
};

// A str without a NUL in it, which C would cut short.
std::string text_of(const std::string& text, const char* name);

}  // namespace plat::acl_python
