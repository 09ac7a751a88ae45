// relax(): one look of a busy wait, without starving the other thread of the core.
#pragma once

namespace plat::stream {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace plat::stream
