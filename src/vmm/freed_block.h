// SPDX-License-Identifier: Apache-2.0
// What is known of memory that was freed, for the handler of a fault: nothing in it is allocated.
#pragma once

#include <array>
#include <cstddef>

#include "base/units.h"

namespace plat::vmm {

// A block that was freed.
struct FreedBlock {
  Va start;
  uint64_t size_bytes = 0;
  const char* freed_by = "";  // the call
  int thread = 0;
  uint64_t frees_since = 0;
  bool is_page_locked = false;    // memory of the host, and not of a device
  std::array<void*, 24> stack{};  // of the free, if stacks are kept
  size_t stack_frames = 0;
};

}  // namespace plat::vmm
