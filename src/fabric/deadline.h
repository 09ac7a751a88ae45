// SPDX-License-Identifier: Apache-2.0
// Deadline: until when a call waits. One for all that the call does, so that no part of it gets the whole
// time again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace plat::fabric {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(uint32_t length_ms) : length_ms_(length_ms) { renew(); }

  uint32_t length_ms() const { return length_ms_; }
  Clock::time_point end() const { return end_; }
  bool is_over() const { return Clock::now() >= end_; }
  // With a grace for who is to notice first. At least 1: what is asked for at the last moment is still asked
  // for.
  uint32_t left_ms(uint32_t grace_ms = 0) const {
    const auto end = end_ + std::chrono::milliseconds(grace_ms);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    return static_cast<uint32_t>(std::max<int64_t>(left, 1));
  }
  // Something moved, or what was waited for does not count.
  void renew() { end_ = Clock::now() + std::chrono::milliseconds(length_ms_); }

 private:
  uint32_t length_ms_;
  Clock::time_point end_;
};

}  // namespace plat::fabric
