// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <cstring>
#include <limits>

namespace plat::acl_python {

namespace {

[[noreturn]] void wrong_type(const char* name, const char* wanted, py::handle value) {
  throw py::type_error(std::string(name) + " must be " + wanted + ", not " + Py_TYPE(value.ptr())->tp_name);
}

py::object index_of(py::handle value, const char* name) {
  if (PyIndex_Check(value.ptr()) == 0) wrong_type(name, "an int", value);
  PyObject* const index = PyNumber_Index(value.ptr());
  if (index == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(index);
}

[[noreturn]] void out_of_range(const char* name, py::handle value) {
  PyErr_Clear();
  throw py::value_error(std::string(name) + " is " + py::repr(value).cast<std::string>() +
                        ", out of its range");
}

aclrtMallocAttribute attribute_of(py::handle entry) {
  if (!py::isinstance<py::dict>(entry)) wrong_type("an entry of attrs", "a dict", entry);
  const auto dict = py::reinterpret_borrow<py::dict>(entry);
  aclrtMallocAttribute attribute{};
  attribute.attr = static_cast<aclrtMallocAttrType>(field(dict, "attr"));
  const py::dict value = dict_field(dict, "value");
  if (value.contains("moduleId"))
    attribute.value.moduleId = static_cast<uint16_t>(
        integer(value["moduleId"], "moduleId", 0, std::numeric_limits<uint16_t>::max()));
  else if (value.contains("deviceId"))
    attribute.value.deviceId = field(value, "deviceId");
  else if (value.contains("vaFlag"))
    attribute.value.vaFlag = field(value, "vaFlag");
  else if (value.contains("rsv")) {
    const uint64_t rsv = unsigned_integer(value["rsv"], "rsv");
    std::memcpy(attribute.value.rsv, &rsv, sizeof(rsv));
  }
  return attribute;
}

}  // namespace

int64_t integer(py::handle value, const char* name, int64_t low, int64_t high) {
  const py::object index = index_of(value, name);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || number < low || number > high) out_of_range(name, index);
  return number;
}

uint64_t unsigned_integer(py::handle value, const char* name) {
  const py::object index = index_of(value, name);
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
  if (number == std::numeric_limits<unsigned long long>::max() && PyErr_Occurred() != nullptr)
    out_of_range(name, index);
  return number;
}

uint32_t field(const py::dict& dict, const char* name) {
  if (!dict.contains(name)) return 0;
  return static_cast<uint32_t>(integer(dict[name], name, 0, std::numeric_limits<uint32_t>::max()));
}

py::dict dict_field(const py::dict& dict, const char* name) {
  if (!dict.contains(name)) return {};
  const py::object value = dict[name];
  if (!py::isinstance<py::dict>(value)) wrong_type(name, "a dict", value);
  return value;
}

aclrtMemLocation location_of(const py::dict& dict) {
  return {field(dict, "id"), static_cast<aclrtMemLocationType>(field(dict, "type"))};
}

py::dict to_dict(const aclrtMemLocation& location) {
  return py::dict("id"_a = location.id, "type"_a = static_cast<int>(location.type));
}

aclrtPhysicalMemProp prop_of(const py::dict& dict) {
  aclrtPhysicalMemProp prop{};
  prop.handleType = static_cast<aclrtMemHandleType>(field(dict, "handleType"));
  prop.allocationType = static_cast<aclrtMemAllocationType>(field(dict, "allocationType"));
  prop.memAttr = static_cast<aclrtMemAttr>(field(dict, "memAttr"));
  prop.location = location_of(dict_field(dict, "location"));
  prop.reserve = dict.contains("reserve") ? unsigned_integer(dict["reserve"], "reserve") : 0;
  return prop;
}

py::dict to_dict(const aclrtPhysicalMemProp& prop) {
  return py::dict("handleType"_a = static_cast<int>(prop.handleType),
                  "allocationType"_a = static_cast<int>(prop.allocationType),
                  "memAttr"_a = static_cast<int>(prop.memAttr), "location"_a = to_dict(prop.location),
                  "reserve"_a = prop.reserve);
}

Config::Config(const py::dict& dict) : given_(py::len(dict) > 0) {
  if (!given_) return;
  const size_t count = field(dict, "numAttrs");
  if (dict.contains("attrs")) {
    const py::object attrs = dict["attrs"];
    if (!py::isinstance<py::list>(attrs)) wrong_type("attrs", "a list", attrs);
    for (const py::handle entry : attrs) attributes_.push_back(attribute_of(entry));
  }
  if (count > attributes_.size())
    throw py::value_error("numAttrs is " + std::to_string(count) + ", but attrs has " +
                          std::to_string(attributes_.size()) + " entries");
  config_ = {attributes_.data(), count};
}

std::vector<int32_t> pids_of(const py::list& list) {
  std::vector<int32_t> pids;
  for (const py::handle pid : list)
    pids.push_back(static_cast<int32_t>(
        integer(pid, "a pid", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
  return pids;
}

ServerPids::ServerPids(const py::list& list) {
  for (const py::handle entry : list) {
    if (!py::isinstance<py::dict>(entry)) wrong_type("an entry of server_pids", "a dict", entry);
    const auto dict = py::reinterpret_borrow<py::dict>(entry);
    const py::object pids = dict.contains("pid") ? py::object(dict["pid"]) : py::list();
    if (!py::isinstance<py::list>(pids)) wrong_type("pid", "a list", pids);
    pids_.push_back(pids_of(pids));
    servers_.push_back({field(dict, "sdid"), nullptr, pids_.back().size()});
  }
  for (size_t i = 0; i < servers_.size(); ++i) servers_[i].pid = pids_[i].data();
}

std::string text_of(const std::string& text, const char* name) {
  if (text.find('\0') != std::string::npos) throw py::value_error(std::string(name) + " has a NUL in it");
  return text;
}

}  // namespace plat::acl_python
