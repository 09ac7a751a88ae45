// SPDX-License-Identifier: Apache-2.0
// An event as it is read.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "inspect/trace/ops.h"

namespace plat::inspect {

// An operation and its numbers, by name: event.address(), event.size() and so on for all of fields.inc. What
// the operation does not have is 0.
struct Operation {
  Op op{};
  std::array<uint64_t, kFieldsMax> words{};

  uint64_t get(Field field) const {
    const uint8_t place = kFieldPlaces[static_cast<size_t>(op)][static_cast<size_t>(field)];
    return place != kNowhere ? words[place] : 0;
  }
#define PLAT_FIELD(name, kind) \
  uint64_t name() const { return get(Field::name); }
#define PLAT_TEXT(name, kind)
#include "inspect/trace/fields.inc"
#undef PLAT_TEXT
#undef PLAT_FIELD
};

struct Event : Operation {
  bool begins = false;  // the call has begun; its end follows
  int result = 0;
  uint32_t thread = 0;   // system id
  uint32_t stack = 0;    // 0: none
  uint64_t time_ns = 0;  // since the trace began
  uint64_t number = 0;   // in the order of the whole trace, from 1
  std::string text;

  bool succeeded() const { return result == 0; }
};

}  // namespace plat::inspect
