// SPDX-License-Identifier: Apache-2.0
// An event as it is read.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "inspect/trace/ops.h"

namespace plat::inspect {

struct Event {
  Op op{};
  bool begins = false;  // the call has begun; its end follows
  int result = 0;
  uint32_t thread = 0;   // system id
  uint32_t stack = 0;    // 0: none
  uint64_t time_ns = 0;  // since the trace began
  uint64_t number = 0;   // in the order of the whole trace, from 1
  std::array<uint64_t, kFieldsMax> words{};
  std::string text;

  uint64_t operator[](size_t index) const { return words[index]; }
  bool succeeded() const { return result == 0; }
};

}  // namespace plat::inspect
