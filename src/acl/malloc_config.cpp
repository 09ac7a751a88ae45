// SPDX-License-Identifier: Apache-2.0
#include "acl/malloc_config.h"

#include "rules/rules.h"

namespace plat::acl {

Result<> check_config_array(const aclrtMallocConfig* config) {
  if (config == nullptr || config->attrs != nullptr || config->numAttrs == 0) return {};
  return fail(RuleId::ArgNull, "cfg->attrs", "attrs is null, numAttrs is {}", config->numAttrs);
}

Result<ConfigAttributes> read_config(Runtime& runtime, const aclrtMallocConfig* config, uint32_t device) {
  ConfigAttributes result;
  if (config == nullptr) return result;
  if (config->attrs == nullptr) return fail(RuleId::MallocConfig, "cfg->attrs", "attrs is null");
  for (size_t i = 0; i < config->numAttrs; ++i) {
    const aclrtMallocAttribute& attribute = config->attrs[i];
    switch (attribute.attr) {
      case ACL_RT_MEM_ATTR_MODULE_ID:
        result.module = attribute.value.moduleId;
        break;
      case ACL_RT_MEM_ATTR_DEVICE_ID: {
        const int32_t current = runtime.node.logical_id(device);
        if (attribute.value.deviceId != static_cast<uint32_t>(current))
          return fail(RuleId::MallocConfigDevice, fmt::format("cfg->attrs[{}].value.deviceId", i),
                      "the attribute names device {}, the current device is {}", attribute.value.deviceId,
                      current);
        break;
      }
      default:
        return fail(RuleId::MallocConfig, fmt::format("cfg->attrs[{}].attr", i),
                    "attribute {} is none of device memory", static_cast<int>(attribute.attr));
    }
  }
  return result;
}

Result<> check_host_config(const aclrtMallocConfig* config) {
  if (config == nullptr) return {};
  PLAT_TRY(check_config_array(config));
  if (config->attrs == nullptr) return fail(RuleId::MallocConfig, "cfg->attrs", "attrs is null");
  for (size_t i = 0; i < config->numAttrs; ++i) {
    const int attribute = static_cast<int>(config->attrs[i].attr);
    // Host memory has one address for host and device here, so the flag asks for what is given anyway.
    const bool known = attribute == ACL_RT_MEM_ATTR_MODULE_ID ||
                       (attribute == ACL_RT_MEM_ATTR_VA_FLAG && config->attrs[i].value.vaFlag <= 1);
    if (!known)
      return fail(RuleId::MallocConfig, fmt::format("cfg->attrs[{}].attr", i),
                  "attribute {} with value {} is none of host memory", attribute,
                  config->attrs[i].value.vaFlag);
  }
  return {};
}

}  // namespace plat::acl
