// SPDX-License-Identifier: Apache-2.0
// LiveSet: which addresses the library has handed out and not taken back, for objects that clients see as
// pointers.
#pragma once

#include <mutex>
#include <unordered_set>

namespace plat::stream {

class LiveSet {
 public:
  void add(const void* address) {
    std::lock_guard lock(mutex_);
    live_.insert(address);
  }
  // False if it was not live.
  bool remove(const void* address) {
    std::lock_guard lock(mutex_);
    return live_.erase(address) > 0;
  }
  bool has(const void* address) const {
    std::lock_guard lock(mutex_);
    return live_.count(address) > 0;
  }
  // Has `use` look at it while it is kept from going away; false if it was not live.
  template <class Use>
  bool with(const void* address, const Use& use) const {
    std::lock_guard lock(mutex_);
    if (live_.count(address) == 0) return false;
    use();
    return true;
  }

 private:
  mutable std::mutex mutex_;  // guards live_
  std::unordered_set<const void*> live_;
};

}  // namespace plat::stream
