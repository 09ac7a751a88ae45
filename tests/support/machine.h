// SPDX-License-Identifier: Apache-2.0
// A machine for tests of several processes: its own name, small, removed afterwards. Make it before the first
// ACL call.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "acl/acl.h"
#include "device/node.h"

namespace plat::test {

class Machine {
 public:
  explicit Machine(const char* capacity = "64MiB")
      : name_("test-" + std::to_string(getpid())), owner_(getpid()) {
    setenv("PLAT_NODE", name_.c_str(), 1);
    setenv("PLAT_CAPACITY", capacity, 1);
    setenv("PLAT_DEVICES", "2", 1);
    setenv("PLAT_QUIET", "1", 1);
    setenv("PLAT_LOG", "off", 1);
  }
  ~Machine() {
    if (getpid() != owner_) return;
    for (const char* file : {"-dev0", "-dev1", "-host"})
      unlink((device::Node::default_directory() + "/" + name_ + file).c_str());
  }
  std::string control_file() const { return device::Node::default_directory() + "/" + name_ + "-dev0"; }

 private:
  std::string name_;
  pid_t owner_;
};

// How much of device 0 is in use, by anybody. Needs a current device.
inline uint64_t used_bytes() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes) != ACL_SUCCESS) return UINT64_MAX;
  return total_bytes - free_bytes;
}

inline aclrtDrvMemHandle allocate(size_t size_bytes, uint32_t device = 0) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  aclrtDrvMemHandle handle = nullptr;
  return aclrtMallocPhysical(&handle, size_bytes, &prop, 0) == ACL_SUCCESS ? handle : nullptr;
}

// Reserves, allocates and maps; the address, or null.
inline void* map_new(size_t size_bytes) {
  void* va = nullptr;
  aclrtDrvMemHandle handle = allocate(size_bytes);
  if (handle == nullptr || aclrtReserveMemAddress(&va, size_bytes, 0, nullptr, 0) != ACL_SUCCESS)
    return nullptr;
  return aclrtMapMem(va, size_bytes, 0, handle, 0) == ACL_SUCCESS ? va : nullptr;
}

}  // namespace plat::test
