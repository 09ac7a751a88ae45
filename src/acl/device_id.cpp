// SPDX-License-Identifier: Apache-2.0
// The three kinds of device ids, and what identifies a device outside of ACL.
#include "acl/acl_rt_device_id.h"

#include <cstring>

#include "acl/entry.h"
#include "device/identity.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

Result<> want_not_negative(int32_t id, const char* parameter) {
  if (id >= 0) return {};
  return fail(RuleId::DeviceIdNegative, parameter, "{} is {}", parameter, id);
}

// What is a logic id here is a physical id too: no container renumbers devices.
Result<int32_t> machine_id(const Runtime& runtime, int32_t user_id, const char* parameter) {
  PLAT_TRY(want_not_negative(user_id, parameter));
  PLAT_ASSIGN(device, runtime.node.physical_id(user_id, parameter));
  return static_cast<int32_t>(device);
}

Result<int32_t> user_id(const Runtime& runtime, int32_t machine_id, const char* parameter) {
  PLAT_TRY(want_not_negative(machine_id, parameter));
  const int32_t id = runtime.node.logical_id(static_cast<uint32_t>(machine_id));
  if (id >= 0) return id;
  const uint32_t count = runtime.node.config().device_count;
  return fail(RuleId::DeviceId, parameter, "the machine has {} devices, and device {} is {}", count,
              machine_id, static_cast<uint32_t>(machine_id) < count ? "hidden" : "not there");
}

using Conversion = Result<int32_t> (*)(const Runtime&, int32_t, const char*);

aclError convert(const char* function, Conversion conversion, int32_t from, const char* from_name,
                 int32_t* const to, const char* to_name) {
  return entry(function, [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(to, to_name));
    PLAT_ASSIGN(id, conversion(runtime, from, from_name));
    *to = id;
    return {};
  });
}

Result<> want_services(const Runtime& runtime, const char* what) {
  const device::Product& product = runtime.node.product();
  if (product.device_services) return {};
  return fail(RuleId::ProductSupport, "", "{} has no {}", product.soc_name, what);
}

}  // namespace

extern "C" {

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  return convert("aclrtGetLogicDevIdByUserDevId", machine_id, userDevid, "userDevid", logicDevId,
                 "logicDevId");
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t* const userDevid) {
  return convert("aclrtGetUserDevIdByLogicDevId", user_id, logicDevId, "logicDevId", userDevid, "userDevid");
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t* const logicDevId) {
  return convert("aclrtGetLogicDevIdByPhyDevId", user_id, phyDevId, "phyDevId", logicDevId, "logicDevId");
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t* const phyDevId) {
  return convert("aclrtGetPhyDevIdByLogicDevId", machine_id, logicDevId, "logicDevId", phyDevId, "phyDevId");
}

aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t* const userDevId) {
  return convert("aclrtGetUserDevIdByPhyDevId", user_id, phyDevId, "phyDevId", userDevId, "userDevId");
}

aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t* const phyDevId) {
  return convert("aclrtGetPhyDevIdByUserDevId", machine_id, userDevId, "userDevId", phyDevId, "phyDevId");
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  return entry("aclrtDeviceGetUuid", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(uuid, "uuid"));
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_TRY(want_services(runtime, "uuid"));
    const auto bytes = device::uuid_of(runtime.node.config(), device);
    static_assert(sizeof(bytes) == sizeof(uuid->bytes));
    std::memcpy(uuid->bytes, bytes.data(), sizeof(bytes));
    return {};
  });
}

aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char* pciBusId, int32_t len) {
  return entry("aclrtDeviceGetPCIBusId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(pciBusId, "pciBusId"));
    if (deviceId < 0) return fail(RuleId::DeviceId, "deviceId", "deviceId is {}", deviceId);
    if (len < static_cast<int32_t>(device::kPciTextBytes))
      return fail(RuleId::PciRoom, "len", "len is {}, {} are needed", len, device::kPciTextBytes);
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_TRY(want_services(runtime, "PCI bus ids"));
    const auto text = device::pci_text_of(runtime.node.product(), device);
    if (!text)
      return fail(RuleId::ProductSupport, "deviceId", "the host reaches {} by other means than PCIe",
                  runtime.node.product().soc_name);
    std::memcpy(pciBusId, text->c_str(), device::kPciTextBytes);
    return {};
  });
}

aclError aclrtDeviceGetByPCIBusId(const char* pciBusId, int32_t* deviceId) {
  return entry("aclrtDeviceGetByPCIBusId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(pciBusId, "pciBusId"));
    PLAT_TRY(want(deviceId, "deviceId"));
    PLAT_TRY(want_services(runtime, "PCI bus ids"));
    for (uint32_t device = 0; device < runtime.node.config().device_count; ++device) {
      if (device::pci_text_of(runtime.node.product(), device) != pciBusId) continue;
      PLAT_ASSIGN(id, user_id(runtime, static_cast<int32_t>(device), "pciBusId"));
      *deviceId = id;
      return {};
    }
    return fail(RuleId::PciKnown, "pciBusId", "no device has '{:.32}'", pciBusId);
  });
}

aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t* value) {
  return entry("aclrtGetDevicesTopo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_ASSIGN(other, runtime.node.physical_id(otherDeviceId, "otherDeviceId"));
    switch (device::connection_of(runtime.node.product(), device, other)) {
      case device::Connection::Unknown:
        return fail(RuleId::DeviceNumber, "otherDeviceId",
                    "how devices of {} are connected is not documented", runtime.node.product().soc_name);
      case device::Connection::Self:
        *value = ACL_RT_DEVS_TOPOLOGY_HCCS;
        break;
      case device::Connection::Chip:
        *value = ACL_RT_DEVS_TOPOLOGY_SIO;
        break;
      case device::Connection::Switch:
        *value = ACL_RT_DEVS_TOPOLOGY_HCCS_SW;
        break;
    }
    return {};
  });
}

}  // extern "C"
