// SPDX-License-Identifier: Apache-2.0
// How devices are, and callbacks for when they are set and reset.
#include "acl/acl_rt_device_state.h"

#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

extern "C" {

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return entry("aclrtQueryDeviceStatus", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(deviceStatus, "deviceStatus"));
    PLAT_TRY(runtime.node.physical_id(deviceId, "deviceId"));
    *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return {};
  });
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  return entry("aclrtGetDeviceUtilizationRate", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(utilizationInfo, "utilizationInfo"));
    if (utilizationInfo->utilizationExtend != nullptr)
      return fail(RuleId::ArgReserved, "utilizationInfo->utilizationExtend", "it is {}, only null is known",
                  fmt::ptr(utilizationInfo->utilizationExtend));
    // Nothing computes here, and nobody measures memory. A device that is not there has no rates.
    const int32_t rate = runtime.node.physical_id(deviceId, "deviceId") ? 0 : -1;
    *utilizationInfo = {rate, rate, rate, -1, nullptr};
    return {};
  });
}

aclError aclrtRegDeviceStateCallback(const char* regName, aclrtDeviceStateCallback callback, void* args) {
  return entry("aclrtRegDeviceStateCallback", [&](Runtime& runtime) -> Result<> {
    return runtime.device_callbacks.set(regName, callback, args);
  });
}

aclError aclrtSetTsDevice(aclrtTsId tsId) {
  return entry("aclrtSetTsDevice", [&](Runtime&) -> Result<> {
    if (tsId != ACL_TS_ID_AICORE && tsId != ACL_TS_ID_AIVECTOR)
      return fail(RuleId::ArgEnum, "tsId", "tsId is {}", static_cast<int>(tsId));
    return {};
  });
}

}  // extern "C"
