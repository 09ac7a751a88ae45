// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer is told where it is in the program. It does not see into the device library, which no
// sanitizer was put into: neither how queued work goes to another thread nor how that says that it is done.
#pragma once

extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}

namespace plat::inspect {

// Host work that has run, of all streams: who waits for any of it, or asks, is behind it.
inline char g_work_done;

inline void tell_before(void* what) {
  if (__builtin_expect(__tsan_release != nullptr, 0)) __tsan_release(what);
}
inline void tell_after(void* what) {
  if (__builtin_expect(__tsan_acquire != nullptr, 0)) __tsan_acquire(what);
}

}  // namespace plat::inspect
