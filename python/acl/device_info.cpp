// SPDX-License-Identifier: Apache-2.0
// What devices, streams and the process say of themselves, and their limits.

#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

py::tuple uuid(int32_t device) {
  aclrtUuid id{};
  const int ret = aclrtDeviceGetUuid(device, &id);
  return py::make_tuple(py::bytes(id.bytes, sizeof id.bytes), ret);
}

py::tuple pci_bus_id(int32_t device) {
  char text[13] = "";
  const int ret = aclrtDeviceGetPCIBusId(device, text, sizeof text);
  return py::make_tuple(std::string(text), ret);
}

py::tuple device_of_pci(const std::string& text) {
  int32_t device = 0;
  const int ret = aclrtDeviceGetByPCIBusId(text.c_str(), &device);
  return py::make_tuple(device, ret);
}

py::tuple utilization(int32_t device) {
  aclrtUtilizationInfo info{};
  const int ret = aclrtGetDeviceUtilizationRate(device, &info);
  py::dict rates;
  rates["cube_utilization"] = info.cubeUtilization;
  rates["vector_utilization"] = info.vectorUtilization;
  rates["aicpu_utilization"] = info.aicpuUtilization;
  rates["memory_utilization"] = info.memoryUtilization;
  return py::make_tuple(rates, ret);
}

py::tuple priority_range() {
  int32_t least = 0, greatest = 0;
  const int ret = aclrtDeviceGetStreamPriorityRange(&least, &greatest);
  return py::make_tuple(least, greatest, ret);
}

py::tuple primary_context(int32_t device) {
  int32_t active = 0;
  const int ret = aclrtGetPrimaryCtxState(device, nullptr, &active);
  return py::make_tuple(active, ret);
}

py::tuple cann_attributes() {
  const aclCannAttr* list = nullptr;
  size_t count = 0;
  const int ret = aclGetCannAttributeList(&list, &count);
  py::list attributes;
  for (size_t i = 0; i < count; ++i) attributes.append(static_cast<int>(list[i]));
  return py::make_tuple(attributes, ret);
}

py::tuple cann_version(int32_t name) {
  aclCANNPackageVersion version{};
  const int ret = aclsysGetCANNVersion(static_cast<aclCANNPackageName>(name), &version);
  py::dict parts;
  parts["version"] = std::string(version.version);
  parts["major_version"] = std::string(version.majorVersion);
  parts["minor_version"] = std::string(version.minorVersion);
  parts["release_version"] = std::string(version.releaseVersion);
  parts["patch_version"] = std::string(version.patchVersion);
  return py::make_tuple(parts, ret);
}

// The failure mode is the one attribute of 64 bits; the others share their place.
int set_attribute(uint64_t stream, int32_t attribute, uint64_t value) {
  aclrtStreamAttrValue holder{};
  holder.failureMode = value;
  if (attribute != ACL_STREAM_ATTR_FAILURE_MODE && value > UINT32_MAX)
    throw py::value_error("the value is " + std::to_string(value));
  return unlocked([&] {
    return aclrtSetStreamAttribute(to_c<aclrtStream>(stream), static_cast<aclrtStreamAttr>(attribute),
                                   &holder);
  });
}

py::tuple get_attribute(uint64_t stream, int32_t attribute) {
  aclrtStreamAttrValue holder{};
  const int ret =
      aclrtGetStreamAttribute(to_c<aclrtStream>(stream), static_cast<aclrtStreamAttr>(attribute), &holder);
  return py::make_tuple(holder.failureMode, ret);
}

void add_ids(Group& rt) {
  rt.def("get_logic_dev_id_by_user_dev_id", Last<aclrtGetLogicDevIdByUserDevId>::call, "user_dev_id"_a,
         ReleaseIfWanted(), "(logic_dev_id, ret): the machine's number of a device.");
  rt.def("get_user_dev_id_by_logic_dev_id", Last<aclrtGetUserDevIdByLogicDevId>::call, "logic_dev_id"_a,
         ReleaseIfWanted(), "(user_dev_id, ret): the id for set_device of a device of the machine.");
  rt.def("get_logic_dev_id_by_phy_dev_id", Last<aclrtGetLogicDevIdByPhyDevId>::call, "phy_dev_id"_a,
         ReleaseIfWanted(), "(user_dev_id, ret): the id for set_device, whatever the name says.");
  rt.def("get_phy_dev_id_by_logic_dev_id", Last<aclrtGetPhyDevIdByLogicDevId>::call, "logic_dev_id"_a,
         ReleaseIfWanted(), "(phy_dev_id, ret): of an id for set_device, whatever the name says.");
  rt.def("get_user_dev_id_by_phy_dev_id", Last<aclrtGetUserDevIdByPhyDevId>::call, "phy_dev_id"_a,
         ReleaseIfWanted(), "(user_dev_id, ret).");
  rt.def("get_phy_dev_id_by_user_dev_id", Last<aclrtGetPhyDevIdByUserDevId>::call, "user_dev_id"_a,
         ReleaseIfWanted(), "(phy_dev_id, ret).");
  rt.def("device_get_uuid", uuid, "device_id"_a, "(uuid, ret): 16 bytes that no other device has.");
  rt.def("device_get_pci_bus_id", pci_bus_id, "device_id"_a, "(text, ret): such as '0000:01:00.0'.");
  rt.def("device_get_by_pci_bus_id", device_of_pci, "pci_bus_id"_a, "(device_id, ret).");
  rt.def("get_devices_topo", Last<aclrtGetDevicesTopo>::call, "device_id"_a, "other_device_id"_a,
         ReleaseIfWanted(), "(value, ret): how two devices are connected.");
}

void add_limits(Group& rt) {
  rt.def("device_set_limit", Ret<aclrtDeviceSetLimit>::call, "limit"_a, "value"_a, ReleaseIfWanted(),
         "Sets a stack or print buffer of operators; kept, without effect.");
  rt.def("device_get_limit", Last<aclrtDeviceGetLimit>::call, "limit"_a, ReleaseIfWanted(), "(value, ret).");
  rt.def("get_device_res_limit", Last<aclrtGetDeviceResLimit>::call, "device_id"_a, "type"_a,
         ReleaseIfWanted(), "(value, ret): how many cores (0 cube, 1 vector) work may use.");
  rt.def("set_device_res_limit", Ret<aclrtSetDeviceResLimit>::call, "device_id"_a, "type"_a, "value"_a,
         ReleaseIfWanted(), "Sets that number.");
  rt.def("reset_device_res_limit", Ret<aclrtResetDeviceResLimit>::call, "device_id"_a, ReleaseIfWanted(),
         "Forgets what was set.");
  rt.def("get_stream_res_limit", Last<aclrtGetStreamResLimit>::call, "stream"_a, "type"_a, ReleaseIfWanted(),
         "(value, ret): the same for a stream.");
  rt.def("set_stream_res_limit", Ret<aclrtSetStreamResLimit>::call, "stream"_a, "type"_a, "value"_a,
         ReleaseIfWanted(), "Sets that number.");
  rt.def("reset_stream_res_limit", Ret<aclrtResetStreamResLimit>::call, "stream"_a, ReleaseIfWanted(),
         "Forgets what was set.");
  rt.def("use_stream_res_in_current_thread", Ret<aclrtUseStreamResInCurrentThread>::call, "stream"_a,
         ReleaseIfWanted(), "The limits of the stream count for this thread.");
  rt.def("unuse_stream_res_in_current_thread", Ret<aclrtUnuseStreamResInCurrentThread>::call, "stream"_a,
         ReleaseIfWanted(), "They no longer do.");
  rt.def("get_res_in_current_thread", Last<aclrtGetResInCurrentThread>::call, "type"_a, ReleaseIfWanted(),
         "(value, ret): what counts for this thread.");
}

void add_streams(Group& rt) {
  const auto stream = "stream"_a;
  rt.def("stream_get_id", Last<aclrtStreamGetId>::call, stream, ReleaseIfWanted(), "(stream_id, ret).");
  rt.def("stream_get_priority", Last<aclrtStreamGetPriority>::call, stream, ReleaseIfWanted(),
         "(priority, ret): from 0 (highest) to 7.");
  rt.def("stream_get_flags", Last<aclrtStreamGetFlags>::call, stream, ReleaseIfWanted(), "(flags, ret).");
  rt.def("device_get_stream_priority_range", priority_range,
         "(least_priority, greatest_priority, ret): 7 and 0.");
  rt.def("get_stream_available_num", First<aclrtGetStreamAvailableNum>::call, ReleaseIfWanted(),
         "(count, ret): streams that can still be made.");
  rt.def("set_stream_overflow_switch", Ret<aclrtSetStreamOverflowSwitch>::call, stream, "flag"_a,
         ReleaseIfWanted(), "Watches the stream's work for overflows (1) or not (0); kept, without effect.");
  rt.def("get_stream_overflow_switch", Last<aclrtGetStreamOverflowSwitch>::call, stream, ReleaseIfWanted(),
         "(flag, ret).");
  rt.def("set_stream_attribute", set_attribute, stream, "attr"_a, "value"_a,
         "Sets an attribute (1 failure mode, 2 overflow, 3 tag, 4 operator info, 5 priority).");
  rt.def("get_stream_attribute", get_attribute, stream, "attr"_a, "(value, ret).");
  rt.def("stream_abort", Ret<aclrtStreamAbort>::call, stream, Release(),
         "Gives up all that the stream was given; whoever waits for it gets 107023.");
  rt.def("stream_stop", Ret<aclrtStreamStop>::call, stream, Release(),
         "Ends what the stream waits for at its head.");
  rt.def("device_task_abort", Ret<aclrtDeviceTaskAbort>::call, "device_id"_a, "timeout"_a, Release(),
         "Gives up the work of all streams of a device, within so many milliseconds (0: however long).");
  rt.def("stream_wait_event_with_flag", Ret<aclrtStreamWaitEventWithFlag>::call, stream, "event"_a,
         "timeout"_a, "flag"_a, Release(), "stream_wait_event_with_timeout; the flag is 0.");
  rt.def("record_event_with_flag", Ret<aclrtRecordEventWithFlag>::call, "event"_a, stream, "flag"_a,
         ReleaseIfWanted(), "record_event; the flag is 0.");
  rt.def("get_event_id", Last<aclrtGetEventId>::call, "event"_a, ReleaseIfWanted(), "(event_id, ret).");
  rt.def("get_event_avail_num", First<aclrtGetEventAvailNum>::call, ReleaseIfWanted(),
         "(count, ret): events that can still be made.");
}

}  // namespace

void add_device_info(Group& rt) {
  add_ids(rt);
  add_limits(rt);
  add_streams(rt);
  rt.def("get_device_info", Last<aclrtGetDeviceInfo>::call, "device_id"_a, "attr"_a, ReleaseIfWanted(),
         "(value, ret): an attribute of a device, such as 301 for its memory.");
  rt.def("get_device_capability", Last<aclrtGetDeviceCapability>::call, "device_id"_a, "dev_feature_type"_a,
         ReleaseIfWanted(), "(value, ret): whether a device has a feature.");
  rt.def("query_device_status", Last<aclrtQueryDeviceStatus>::call, "device_id"_a, ReleaseIfWanted(),
         "(status, ret): 0 for a device that works.");
  rt.def("get_device_utilization_rate", utilization, "device_id"_a,
         "(rates, ret): a dict of percents, -1 for what nobody knows.");
  rt.def("set_ts_device", Ret<aclrtSetTsDevice>::call, "ts_id"_a, ReleaseIfWanted(),
         "Chooses a task scheduler; all products here have one.");
  rt.def("get_primary_ctx_state", primary_context, "device_id"_a,
         "(active, ret): whether the device is set.");
  rt.def("set_sys_param_opt", Ret<aclrtSetSysParamOpt>::call, "opt"_a, "value"_a, ReleaseIfWanted(),
         "Sets a parameter of the process; kept, without effect.");
  rt.def("get_sys_param_opt", Last<aclrtGetSysParamOpt>::call, "opt"_a, ReleaseIfWanted(), "(value, ret).");
  rt.def("ctx_set_sys_param_opt", Ret<aclrtCtxSetSysParamOpt>::call, "opt"_a, "value"_a, ReleaseIfWanted(),
         "Sets a parameter of the current context; kept, without effect.");
  rt.def("ctx_get_sys_param_opt", Last<aclrtCtxGetSysParamOpt>::call, "opt"_a, ReleaseIfWanted(),
         "(value, ret); 107021 before it was set.");
  rt.def("peek_at_last_error", Ret<aclrtPeekAtLastError>::call, "level"_a, ReleaseIfWanted(),
         "The code of this thread's last failure in the runtime.");
  rt.def("get_last_error", Ret<aclrtGetLastError>::call, "level"_a, ReleaseIfWanted(),
         "The same, and forgets it.");
}

void add_toolkit(Group& acl) {
  acl.def("get_device_capability", Last<aclGetDeviceCapability>::call, "device_id"_a, "device_info"_a,
          ReleaseIfWanted(), "(value, ret): cores or cache of a device, as PLAT_DEVICE_NUMBERS says.");
  acl.def("get_cann_attribute_list", cann_attributes, "(attributes, ret): what the toolkit can do here.");
  acl.def("get_cann_attribute", Last<aclGetCannAttribute>::call, "cann_attr"_a, ReleaseIfWanted(),
          "(value, ret): whether the toolkit can do it.");
  acl.def("sys_get_cann_version", cann_version, "name"_a,
          "(version, ret): a dict of the version and its parts.");
}

}  // namespace plat::acl_python
