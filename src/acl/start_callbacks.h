// SPDX-License-Identifier: Apache-2.0
// Functions of the client's that are called when ACL starts and ends.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl_rt_lifecycle.h"
#include "base/result.h"
#include "rules/rules.h"

namespace plat::acl {

// Those of one kind, by type and function.
template <class Function>
class StartCallbacks {
 public:
  struct Entry {
    int type;
    Function function;
    void* argument;
  };

  Result<> add(aclRegisterCallbackType type, Function function, void* argument) {
    const int number = static_cast<int>(type);
    const std::lock_guard lock(mutex_);
    if (number != ACL_REG_TYPE_OTHER && find(number, nullptr) != entries_.end())
      return fail(RuleId::StartCallback, "type", "type {} is registered already", number);
    entries_.push_back({number, function, argument});
    return {};
  }

  Result<> remove(aclRegisterCallbackType type, Function function) {
    const std::lock_guard lock(mutex_);
    const auto found = find(static_cast<int>(type), function);
    if (found == entries_.end())
      return fail(RuleId::StartCallback, "cbFunc", "the function is not registered for type {}",
                  static_cast<int>(type));
    entries_.erase(found);
    return {};
  }

  std::vector<Entry> all() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }

 private:
  // A function of null stands for any.
  auto find(int type, Function function) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.type == type && (function == nullptr || entry.function == function);
    });
  }

  mutable std::mutex mutex_;  // guards entries_
  std::vector<Entry> entries_;
};

}  // namespace plat::acl
