// OnDevice: the calls that work on the thread's current device, made for the pool's. Where the thread has
// another one, it has the pool's as long as this lives.
#pragma once

#include <acl/acl_rt.h>

#include <cstdint>

namespace plat::pool {

class OnDevice {
 public:
  // -1: whichever the thread has.
  explicit OnDevice(int32_t device) {
    int32_t current = -1;
    if (device < 0 || (aclrtGetDevice(&current) == ACL_SUCCESS && current == device)) return;
    if (aclrtGetCurrentContext(&before_) != ACL_SUCCESS) before_ = nullptr;
    aclrtSetDevice(device);
  }
  ~OnDevice() {
    if (before_ != nullptr) aclrtSetCurrentContext(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  aclrtContext before_ = nullptr;
};

}  // namespace plat::pool
