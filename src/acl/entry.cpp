// SPDX-License-Identifier: Apache-2.0
#include "acl/entry.h"

#include "os/process.h"

namespace plat::acl {

Error stale_child_error() {
  return Error{RuleId::DeviceForked, "",
               fmt::format("process {} was forked from one that uses the device", os::process_id())};
}

Error exception_error(const char* what) {
  return Error{RuleId::DeviceInternal, "", fmt::format("exception: {}", what)};
}

}  // namespace plat::acl
