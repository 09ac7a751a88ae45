// SPDX-License-Identifier: Apache-2.0
// What the environment asks of the recorder. `plat record` and `plat check` set it.
//
//   PLAT_INSPECT_TRACE     the file to write; a process that finds it taken (a child) adds its pid
//
//   PLAT_INSPECT_STACKS    fp (default), unwind, none
//
//   PLAT_INSPECT_DEPTH     frames of a stack, 1 to 64; 32 by default
//
//   PLAT_INSPECT_MAX_BYTES where a file ends; 4 GiB by default
#pragma once

#include <climits>
#include <cstdint>

namespace plat::inspect {

enum class Stacks : uint8_t { None, FramePointer, Unwind };

struct Settings {
  char path[PATH_MAX] = {};  // empty: plat-<pid>.trace in the working directory
  Stacks stacks = Stacks::FramePointer;
  uint32_t depth = 32;
  uint64_t max_bytes = uint64_t{4} << 30;
};

// Reads the environment; what makes no sense is said on stderr and left at its default.
Settings read_settings();

// What another process asked for.
Settings late_settings(const char* trace, const char* stacks);

}  // namespace plat::inspect
