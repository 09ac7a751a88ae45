// SPDX-License-Identifier: Apache-2.0
// Places where a test can make the process die, to prove that nothing is lost. Off: one relaxed load.
#pragma once

#include <atomic>
#include <string>

namespace plat::device {

extern std::atomic<bool> crash_armed;

// "any:N": at the N-th place reached, whichever it is; "NAME:N": at the N-th visit of one. "" disarms.
void arm_crash(const std::string& plan);
void maybe_crash(const char* place);

inline void crash_point(const char* place) {
  if (crash_armed.load(std::memory_order_relaxed)) [[unlikely]]
    maybe_crash(place);
}

}  // namespace plat::device
