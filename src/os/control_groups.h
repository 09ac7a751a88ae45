// SPDX-License-Identifier: Apache-2.0
// Limits on memory that control groups of this process set, version 1, version 2, or both side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plat::os {

struct MemoryLimit {
  std::string group;  // the directory of the control group
  std::string limit_file;
  std::string usage_file;

  // What can still be taken; UINT64_MAX where there is no limit.
  uint64_t left_bytes() const;
};

// Those of the calling process's own groups and of all groups around them, as far as they can be seen.
// `root` is what stands before /proc and /sys, for tests.
std::vector<MemoryLimit> memory_limits(const std::string& root = "");

}  // namespace plat::os
