// SPDX-License-Identifier: Apache-2.0
// Quota: how many of a kind each device has, and how many it may have.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <type_traits>

#include "base/result.h"
#include "rules/rules.h"

namespace plat::stream {

class Quota {
 public:
  // What refuses one too many: the rule, the parameter it names, and what the message calls them.
  struct Refusal {
    RuleId rule;
    const char* parameter;
    const char* kind;
  };

  Quota(uint32_t max, Refusal refusal) : max_(max), refusal_(refusal) {}

  void set_max(uint32_t max) { max_.store(max); }

  Result<> take(int device) {
    std::lock_guard lock(mutex_);
    uint32_t& used = used_[device];
    if (used >= max_.load())
      return fail(refusal_.rule, refusal_.parameter, "device {} has {} {}", device, used, refusal_.kind);
    ++used;
    return {};
  }
  void give_back(int device) {
    std::lock_guard lock(mutex_);
    --used_[device];
  }
  // Takes one for what make() returns, and gives it back when that is nothing, or when making it throws.
  template <class Make>
  Result<std::invoke_result_t<const Make&>> take_for(int device, const Make& make) {
    PLAT_TRY(take(device));
    struct Taken {
      ~Taken() {
        if (quota != nullptr) quota->give_back(device);
      }
      Quota* quota;
      int device;
    } taken{this, device};
    auto made = make();
    if (made) taken.quota = nullptr;
    return made;
  }
  uint32_t left(int device) const {
    std::lock_guard lock(mutex_);
    const auto found = used_.find(device);
    const uint32_t used = found == used_.end() ? 0 : found->second;
    return max_.load() - std::min(used, max_.load());
  }

 private:
  std::atomic<uint32_t> max_;
  const Refusal refusal_;
  mutable std::mutex mutex_;  // guards used_
  std::map<int, uint32_t> used_;
};

}  // namespace plat::stream
