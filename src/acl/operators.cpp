// How operators behave: clients choose it at start-up, and there are no operators here.
#include <array>
#include <atomic>

#include "acl/accepted.h"
#include "acl/acl_rt_device.h"
#include "acl/entry.h"
#include "acl/use.h"

using namespace plat;
using plat::acl::accept_without_effect;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

constexpr const char* kWhy = "there are no operators here";

// By physical number.
std::array<std::atomic<aclrtFloatOverflowMode>, device::kMaxDevices> overflow_modes{};

}  // namespace

extern "C" {

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return entry("aclrtSetDeviceSatMode", [&](Runtime& runtime) -> Result<> {
    if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN)
      return fail(RuleId::ArgEnum, "mode", "mode is {}", static_cast<int>(mode));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    overflow_modes[device] = mode;
    return accept_without_effect(kWhy);
  });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return entry("aclrtGetDeviceSatMode", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(mode, "mode"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    *mode = overflow_modes[device];
    return {};
  });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t) {  // any number of seconds is one
  return entry("aclrtSetOpExecuteTimeOut", [&](Runtime&) { return accept_without_effect(kWhy); });
}

}  // extern "C"
