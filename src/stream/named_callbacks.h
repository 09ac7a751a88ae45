// SPDX-License-Identifier: Apache-2.0
// NamedCallbacks: functions of the client's that are told of something, each registered under a name.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "rules/rules.h"

namespace plat::stream {

template <class Function>
class NamedCallbacks {
 public:
  struct Entry {
    std::string name;
    Function function;
    void* argument;
  };

  // Null removes the function of that name, if there is one.
  Result<> set(const char* name, Function function, void* argument) {
    if (name == nullptr) return fail(RuleId::CallbackName, "regName", "regName is null");
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.name == name; });
    if (function == nullptr) {
      if (found != entries_.end()) entries_.erase(found);
      return {};
    }
    if (found != entries_.end()) return fail(RuleId::CallbackName, "regName", "'{}' is taken", name);
    entries_.push_back({name, function, argument});
    return {};
  }

  // In the order they came. To be called with no lock held: they may call in, and register others.
  std::vector<Entry> all() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }

 private:
  mutable std::mutex mutex_;  // guards entries_
  std::vector<Entry> entries_;
};

}  // namespace plat::stream
