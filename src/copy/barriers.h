// SPDX-License-Identifier: Apache-2.0
// Barriers: cache operations with a number, that a stream can wait for.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace plat::copy {

class Barriers {
 public:
  // An operation under way. It ends when this goes, also if its stream drops it; number 0 is none.
  class Operation {
   public:
    Operation(Barriers& barriers, uint32_t number) : barriers_(&barriers), number_(number) {
      if (number_ != 0) barriers_->begin(number_);
    }
    Operation(Operation&& other) noexcept
        : barriers_(other.barriers_), number_(std::exchange(other.number_, 0)) {}
    Operation& operator=(Operation&&) = delete;
    ~Operation() {
      if (number_ != 0) barriers_->end(number_);
    }

   private:
    Barriers* barriers_;
    uint32_t number_;
  };

  bool has_ended(uint32_t number) const {
    const std::lock_guard lock(mutex_);
    return !pending_.contains(number);
  }

 private:
  void begin(uint32_t number) {
    const std::lock_guard lock(mutex_);
    pending_[number] += 1;
  }
  void end(uint32_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(number);
    if (found != pending_.end() && --found->second == 0) pending_.erase(found);
  }

  mutable std::mutex mutex_;  // guards pending_; a leaf
  std::unordered_map<uint32_t, uint64_t> pending_;
};

}  // namespace plat::copy
