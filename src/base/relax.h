// SPDX-License-Identifier: Apache-2.0
// Courtesies between threads that share a core or a cache line.
#pragma once

namespace plat {

// One look of a busy wait, without starving the other thread of the core.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The memory there is about to be written: its line is fetched from whoever has it, while work goes on.
inline void will_write(const void* memory) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(memory)));
#else
  __builtin_prefetch(memory, 1);
#endif
}

}  // namespace plat
