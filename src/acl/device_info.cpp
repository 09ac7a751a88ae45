// SPDX-License-Identifier: Apache-2.0
// What devices say of themselves.
#include "acl/acl_rt_device_info.h"

#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

Result<int64_t> known(const std::optional<uint64_t>& number, const Runtime& runtime, const char* what) {
  if (number) return static_cast<int64_t>(*number);
  return fail(RuleId::DeviceNumber, "attr", "{} of {} is documented nowhere", what,
              runtime.node.product().soc_name);
}

Result<int64_t> nobody_knows(const Runtime& runtime, const char* what) {
  return known(std::nullopt, runtime, what);
}

// Threads inside of vector cores: products that have none say 0, and what the others have is not documented.
Result<int64_t> thread_limit(const Runtime& runtime) {
  if (!runtime.node.product().simt) return 0;
  return nobody_knows(runtime, "a limit of threads");
}

Result<int64_t> attribute_of(Runtime& runtime, uint32_t device, aclrtDevAttr attribute) {
  const device::Config& config = runtime.node.config();
  const device::Product& product = *config.product;
  const int number = static_cast<int>(attribute);
  if (number >= ACL_DEV_ATTR_WARP_SIZE && number <= ACL_DEV_ATTR_MAX_BLOCK_DIM_Z)
    return thread_limit(runtime);
  switch (number) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      return known(config.numbers.ai_cpus, runtime, "the number of AI CPUs");
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
      return known(config.numbers.ai_cores, runtime, "the number of AI Cores");
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      return known(config.numbers.cube_cores, runtime, "the number of cube cores");
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      return known(config.numbers.vector_cores, runtime, "the number of vector cores");
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      return known(config.numbers.l2_bytes, runtime, "the size of the second-level cache");
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: {
      PLAT_ASSIGN(bank, runtime.node.bank(device::BankId(device)));
      return static_cast<int64_t>(bank->ledger().usage().total_bytes);
    }
    case ACL_DEV_ATTR_IS_VIRTUAL:
      return 0;  // devices are whole cards
    case ACL_DEV_ATTR_NPU_ARCH:
      return product.architecture != 0 ? known(product.architecture, runtime, "")
                                       : nobody_knows(runtime, "the architecture");
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
      return config.server;  // kNoServer outside of a pod, as documented
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:
      if (config.server == device::kNoServer) return nobody_knows(runtime, "the number in a pod");
      return device::super_device_id(config.server, device);
    case ACL_DEV_ATTR_HD_CONNECT_TYPE:  // of the newest product alone
      if (product.generation == rules::Generation::V3) return static_cast<int64_t>(product.host_link);
      [[fallthrough]];
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_PHY_CHIP_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_MAINBOARD_ID:
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR:
      return nobody_knows(runtime, "what a board or a pod calls a device");
    default:
      return fail(RuleId::DeviceInfoAttribute, "attr", "attr is {}", number);
  }
}

}  // namespace

extern "C" {

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return entry("aclrtGetDeviceInfo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    const auto device = runtime.node.physical_id(deviceId, "deviceId");
    if (!device) return fail(RuleId::DeviceInfoId, "deviceId", "{}", device.error().detail);
    PLAT_ASSIGN(number, attribute_of(runtime, *device, attr));
    *value = number;
    return {};
  });
}

aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t* value) {
  return entry("aclrtGetDeviceCapability", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    const int feature = static_cast<int>(devFeatureType);
    if (feature != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
        feature != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV)
      return fail(RuleId::DeviceFeature, "devFeatureType", "devFeatureType is {}", feature);
    PLAT_TRY(runtime.node.physical_id(deviceId, "deviceId"));
    *value = ACL_DEV_FEATURE_NOT_SUPPORT;
    return {};
  });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return entry("aclGetDeviceCapability", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_TRY(runtime.node.check_visible());
    if (deviceId >= runtime.node.visible_count())
      return fail(RuleId::CapabilityDevice, "deviceId", "deviceId is {}, {} device(s) are visible", deviceId,
                  runtime.node.visible_count());
    const device::DeviceNumbers& numbers = runtime.node.config().numbers;
    const int asked = static_cast<int>(deviceInfo);
    if (asked < ACL_DEVICE_INFO_AI_CORE_NUM || asked > ACL_DEVICE_INFO_L2_SIZE)
      return fail(RuleId::ArgEnum, "deviceInfo", "deviceInfo is {}", asked);
    PLAT_ASSIGN(number, asked == ACL_DEVICE_INFO_AI_CORE_NUM
                            ? known(numbers.ai_cores, runtime, "the number of AI Cores")
                        : asked == ACL_DEVICE_INFO_VECTOR_CORE_NUM
                            ? known(numbers.vector_cores, runtime, "the number of vector cores")
                            : known(numbers.l2_bytes, runtime, "the size of the second-level cache"));
    *value = number;
    return {};
  });
}

}  // extern "C"
