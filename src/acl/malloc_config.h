// SPDX-License-Identifier: Apache-2.0
// The attributes that calls of the allocation family take.
#pragma once

#include "acl/acl_rt_memory.h"
#include "acl/runtime.h"
#include "malloc/module_usage.h"

namespace plat::acl {

struct ConfigAttributes {
  uint16_t module = malloc::kModuleApp;
};

// The part that is checked before anything else.
Result<> check_config_array(const aclrtMallocConfig* config);
// For device memory on `device`, a physical number. No configuration is fine.
Result<ConfigAttributes> read_config(Runtime& runtime, const aclrtMallocConfig* config, uint32_t device);
// For host memory.
Result<> check_host_config(const aclrtMallocConfig* config);

}  // namespace plat::acl
