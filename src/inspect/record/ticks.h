// SPDX-License-Identifier: Apache-2.0
// The clock of events: the processor's own counter where it can be trusted, because asking the system costs
// more than writing the event.
#pragma once

#include <time.h>

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace plat::inspect {

inline uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Whether all processors count alike: the system uses the counter for its own clock then.
bool counter_is_trusted();

extern bool g_use_counter;

inline uint64_t ticks() {
#if defined(__x86_64__)
  if (__builtin_expect(g_use_counter, 1)) return __rdtsc();
#elif defined(__aarch64__)
  if (__builtin_expect(g_use_counter, 1)) {
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
  }
#endif
  return monotonic_ns();
}

}  // namespace plat::inspect
