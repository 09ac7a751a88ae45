// Which device a thread uses. The simplest form: contexts and streams take this over.
#include "acl/use.h"

#include <array>

#include "acl/acl_rt_device.h"
#include "acl/entry.h"

namespace plat::acl {
namespace {

thread_local int32_t device_of_thread = -1;
std::array<std::atomic<uint32_t>, device::kMaxDevices> set_counts;

Result<> reset(Runtime& runtime, int32_t id, bool all) {
  PLAT_ASSIGN(device, runtime.node.physical_id(id, "deviceId"));
  uint32_t count = set_counts[device].load();
  if (count == 0) return fail(RuleId::NoContext, "deviceId", "device {} is not set", id);
  set_counts[device].store(all ? 0 : count - 1);
  if (all || count == 1) {
    runtime.node.set_open(device, false);
    if (device_of_thread == static_cast<int32_t>(device)) device_of_thread = -1;
  }
  return {};
}

}  // namespace

Result<uint32_t> current_device(Runtime&) {
  if (device_of_thread >= 0) return static_cast<uint32_t>(device_of_thread);
  return fail(RuleId::NoContext, "", "this thread has no current device");
}

}  // namespace plat::acl

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;

extern "C" {

aclError aclrtSetDevice(int32_t deviceId) {
  return entry("aclrtSetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_TRY(runtime.node.bank(device));
    acl::set_counts[device].fetch_add(1);
    runtime.node.set_open(device, true);
    acl::device_of_thread = static_cast<int32_t>(device);
    return {};
  });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return entry("aclrtResetDevice", [&](Runtime& runtime) { return acl::reset(runtime, deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return entry("aclrtResetDeviceForce",
               [&](Runtime& runtime) { return acl::reset(runtime, deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return entry("aclrtGetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(acl::want(deviceId, "deviceId"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    *deviceId = runtime.node.logical_id(device);
    return {};
  });
}

}  // extern "C"
