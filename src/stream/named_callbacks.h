// SPDX-License-Identifier: Apache-2.0
// NamedCallbacks: functions of the client's that are told of something, each registered under a name.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
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

  // A list of one moment, which needs no memory: who is told of an end must not fail for want of some.
  class Listed {
   public:
    explicit Listed(std::shared_ptr<const std::vector<Entry>> entries) : entries_(std::move(entries)) {}
    auto begin() const { return entries_->begin(); }
    auto end() const { return entries_->end(); }

   private:
    std::shared_ptr<const std::vector<Entry>> entries_;
  };

  // Null removes the function of that name, if there is one.
  Result<> set(const char* name, Function function, void* argument) {
    if (name == nullptr) return fail(RuleId::CallbackName, "regName", "regName is null");
    const std::lock_guard lock(mutex_);
    auto changed = std::make_shared<std::vector<Entry>>(*entries_);
    const auto found = std::find_if(changed->begin(), changed->end(),
                                    [&](const Entry& entry) { return entry.name == name; });
    if (function == nullptr) {
      if (found != changed->end()) changed->erase(found);
    } else {
      if (found != changed->end()) return fail(RuleId::CallbackName, "regName", "'{}' is taken", name);
      changed->push_back({name, function, argument});
    }
    entries_ = std::move(changed);
    return {};
  }

  // In the order they came. To be called with no lock held: they may call in, and register others.
  Listed all() const {
    const std::lock_guard lock(mutex_);
    return Listed(entries_);
  }

 private:
  mutable std::mutex mutex_;  // guards entries_
  std::shared_ptr<const std::vector<Entry>> entries_ = std::make_shared<std::vector<Entry>>();
};

}  // namespace plat::stream
