// SPDX-License-Identifier: Apache-2.0
// Patience: how long one looks again and again for what another process does, before giving up on it.
//
// Where there is too little of the processor for all, both take longer, and giving up would be wrong: a look
// that comes late counts for no more than a few of those that come in time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "os/process.h"

namespace plat::os {

class Patience {
 public:
  explicit Patience(uint64_t nanoseconds, uint64_t now_ns = monotonic_nanoseconds())
      : left_ns_(nanoseconds), looked_ns_(now_ns) {}

  // To be asked at each look.
  bool is_over(uint64_t now_ns = monotonic_nanoseconds()) {
    left_ns_ -= std::min({left_ns_, now_ns - looked_ns_, kLongestLookNs});
    looked_ns_ = now_ns;
    return left_ns_ == 0;
  }

 private:
  static constexpr uint64_t kLongestLookNs = 2'000'000;
  uint64_t left_ns_;
  uint64_t looked_ns_;
};

}  // namespace plat::os
