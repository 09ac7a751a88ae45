// SPDX-License-Identifier: Apache-2.0
// Functions of the client's that are told of tasks that fail.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "acl/acl_rt_callback.h"
#include "os/thread_sanitizer.h"

// What a client can ask about a task that failed.
struct rtExceptionInfo {
  uint32_t task;
  uint32_t stream;
  uint32_t thread;
  uint32_t device;
  uint32_t code;
};

namespace plat::acl {

class ExceptionCallbacks {
 public:
  // The one that is replaced; null removes it.
  void set(aclrtExceptionInfoCallback function) {
    const std::lock_guard lock(mutex_);
    single_ = function;
  }
  // The others, each there once.
  void add(aclrtExceptionInfoCallback function) {
    const std::lock_guard lock(mutex_);
    if (std::find(many_.begin(), many_.end(), function) == many_.end()) many_.push_back(function);
  }
  void remove(aclrtExceptionInfoCallback function) {
    const std::lock_guard lock(mutex_);
    std::erase(many_, function);
  }

  // With no lock held.
  void tell(rtExceptionInfo info) const {
    std::vector<aclrtExceptionInfoCallback> functions;
    {
      const std::lock_guard lock(mutex_);
      functions = many_;
      if (single_ != nullptr) functions.push_back(single_);
    }
    for (const auto function : functions) {
      const os::tsan::Watched watched;
      function(&info);
    }
  }

 private:
  mutable std::mutex mutex_;  // guards the rest
  aclrtExceptionInfoCallback single_ = nullptr;
  std::vector<aclrtExceptionInfoCallback> many_;
};

}  // namespace plat::acl
