// Barriers: cache operations with a number, that a stream can wait for.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace plat::memory {

class Barriers {
 public:
  void begin(uint32_t number) {
    const std::lock_guard lock(mutex_);
    pending_[number] += 1;
  }
  void end(uint32_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(number);
    if (found != pending_.end() && --found->second == 0) pending_.erase(found);
  }
  bool has_ended(uint32_t number) const {
    const std::lock_guard lock(mutex_);
    return !pending_.contains(number);
  }

 private:
  mutable std::mutex mutex_;  // guards pending_; a leaf
  std::unordered_map<uint32_t, uint64_t> pending_;
};

}  // namespace plat::memory
