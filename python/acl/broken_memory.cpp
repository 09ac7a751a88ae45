// SPDX-License-Identifier: Apache-2.0
// Broken memory: what is told of it, and repairs.

#include <algorithm>

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

constexpr size_t kRoomMax = 1 << 16;  // more than any device tells

py::dict to_dict(const aclrtMemUceInfo& info) {
  py::list reserved;
  for (const size_t word : info.reserved) reserved.append(word);
  return py::dict("addr"_a = to_python(info.addr), "len"_a = info.len, "reserved"_a = reserved);
}

py::list to_list(const aclrtMemUceInfo* entries, size_t count) {
  py::list list;
  for (size_t i = 0; i < count; ++i) list.append(to_dict(entries[i]));
  return list;
}

uint64_t word_of(const py::dict& dict, const char* name) {
  return dict.contains(name) ? unsigned_integer(dict[name], name) : 0;
}

aclrtMemUceInfo info_of(const py::handle& given) {
  if (!py::isinstance<py::dict>(given))
    throw py::type_error("broken memory is told as a dict with addr and len");
  const auto dict = py::reinterpret_borrow<py::dict>(given);
  aclrtMemUceInfo info{};
  info.addr = to_c<void*>(word_of(dict, "addr"));
  info.len = word_of(dict, "len");
  if (!dict.contains("reserved")) return info;
  const py::object reserved = dict["reserved"];
  if (!py::isinstance<py::list>(reserved)) throw py::type_error("reserved is no list");
  const auto words = py::reinterpret_borrow<py::list>(reserved);
  if (words.size() > std::size(info.reserved)) throw py::value_error("reserved has more than 14 numbers");
  for (size_t i = 0; i < words.size(); ++i) info.reserved[i] = unsigned_integer(words[i], "reserved");
  return info;
}

std::vector<aclrtMemUceInfo> infos_of(const py::list& list) {
  std::vector<aclrtMemUceInfo> infos;
  for (const py::handle each : list) infos.push_back(info_of(each));
  return infos;
}

py::tuple broken(int32_t device, size_t room) {
  if (room > kRoomMax) throw py::value_error("array_size is above 65536");
  std::vector<aclrtMemUceInfo> entries(room + 1);  // with no room at all there still is an address
  size_t count = 0;
  const int ret = unlocked([&] { return aclrtGetMemUceInfo(device, entries.data(), room, &count); });
  return py::make_tuple(to_list(entries.data(), count), ret);
}

int repair(int32_t device, const py::list& list) {
  std::vector<aclrtMemUceInfo> entries = infos_of(list);
  const size_t count = entries.size();
  entries.resize(count + 1);
  return unlocked([&] { return aclrtMemUceRepair(device, entries.data(), count); });
}

py::tuple verbose(int32_t device) {
  aclrtErrorInfo info{};
  const int ret = unlocked([&] { return aclrtGetErrorVerbose(device, &info); });
  py::dict told("tryRepair"_a = info.tryRepair, "hasDetail"_a = info.hasDetail,
                "errorType"_a = static_cast<int>(info.errorType));
  const aclrtMemUceInfoArray& pages = info.detail.uceInfo;
  if (info.errorType == ACL_RT_ERROR_MEMORY && info.hasDetail != 0)
    told["uceInfo"] = to_list(pages.memUceInfoArray, pages.arraySize);
  return py::make_tuple(told, ret);
}

int repair_error(int32_t device, const py::dict& told) {
  aclrtErrorInfo info{};
  info.tryRepair = static_cast<uint8_t>(std::min(field(told, "tryRepair"), 255u));
  info.hasDetail = static_cast<uint8_t>(std::min(field(told, "hasDetail"), 255u));
  info.errorType = static_cast<aclrtErrorType>(field(told, "errorType"));
  if (told.contains("uceInfo")) {
    const py::object list = told["uceInfo"];
    if (!py::isinstance<py::list>(list)) throw py::type_error("uceInfo is no list");
    const std::vector<aclrtMemUceInfo> entries = infos_of(py::reinterpret_borrow<py::list>(list));
    if (entries.size() > ACL_RT_MEM_UCE_INFO_MAX_NUM)
      throw py::value_error("uceInfo has more than 20 entries");
    info.detail.uceInfo.arraySize = entries.size();
    std::copy(entries.begin(), entries.end(), info.detail.uceInfo.memUceInfoArray);
  }
  return unlocked([&] { return aclrtRepairError(device, &info); });
}

}  // namespace

void add_broken_memory(Group& rt) {
  const auto device = "device_id"_a;
  rt.def("get_mem_uce_info", broken, device, "array_size"_a,
         "(mem_uce_info_array, ret): pages with an uncorrectable error, each {'addr', 'len', 'reserved'}; at "
         "most 20 are told.");
  rt.def("mem_uce_repair", repair, device, "mem_uce_info_array"_a,
         "Makes pages whole that get_mem_uce_info told; what was in them is lost.");
  rt.def("get_error_verbose", verbose, device,
         "(error_info, ret): {'tryRepair', 'hasDetail', 'errorType': ACL_RT_ERROR_* or 0}, and for memory "
         "'uceInfo', a list as of get_mem_uce_info.");
  rt.def("repair_error", repair_error, device, "error_info"_a, "Repairs what get_error_verbose told.");
}

}  // namespace plat::acl_python
