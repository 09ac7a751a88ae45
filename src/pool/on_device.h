// SPDX-License-Identifier: Apache-2.0
// OnDevice: the calls that work on the thread's current context, made in another one. As long as it lives,
// the thread has the context that is named, or some context of the device; then it has its own again.
//
// A thread that has none keeps the one that it was given: there is no call that takes a context away. It is
// asked for its device first and for its context only when it has one, since asking in vain is an error in
// the program's log.
#pragma once

#include <acl/acl_rt.h>

#include <cstdint>

namespace plat::pool {

class OnDevice {
 public:
  // Device -1: whichever the thread has.
  explicit OnDevice(int32_t device, aclrtContext context = nullptr) {
    if (device < 0 && context == nullptr) return;
    int32_t current = -1;
    const bool has_context = aclrtGetDevice(&current) == ACL_SUCCESS;
    if (has_context && context == nullptr && current == device) return;
    if (has_context && aclrtGetCurrentContext(&before_) != ACL_SUCCESS) before_ = nullptr;
    if (context == nullptr) {
      code_ = aclrtSetDevice(device);
    } else if (context == before_) {
      before_ = nullptr;
    } else {
      code_ = aclrtSetCurrentContext(context);
    }
  }
  ~OnDevice() {
    if (before_ != nullptr) aclrtSetCurrentContext(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  // What the device said when it was asked for the context.
  aclError code() const { return code_; }

 private:
  aclrtContext before_ = nullptr;
  aclError code_ = ACL_SUCCESS;
};

}  // namespace plat::pool
