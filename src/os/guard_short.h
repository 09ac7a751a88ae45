// SPDX-License-Identifier: Apache-2.0
// Short copies and guarded calls in assembly, where there is some; see os/guard.h.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PLAT_GUARD_ASSEMBLY 1

extern "C" {

// memcpy that uses neither the stack nor a register that belongs to the caller, so that it can be left
// anywhere by going to plat_short_copy_failed. The code of both lies between the other two.
bool plat_short_copy_sse(void* target, const void* source, size_t size_bytes);
bool plat_short_copy_avx(void* target, const void* source, size_t size_bytes);
extern const char plat_short_copy_begin[];
extern const char plat_short_copy_failed[];
extern const char plat_short_copy_end[];

// Calls the body. To leave it, the stack pointer goes back to where `plat_guarded_frame` points, and
// execution to plat_guarded_call_failed.
bool plat_guarded_call(void (*body)(void*, const void*, size_t), void* target, const void* source,
                       size_t size_bytes);
extern const char plat_guarded_call_returns[];
extern const char plat_guarded_call_failed[];
struct PlatGuardedFrame {
  const PlatGuardedFrame* outer;
  uint64_t size_bytes;
  uint64_t source;
  uint64_t target;
};
[[gnu::tls_model("initial-exec")]] extern thread_local constinit const PlatGuardedFrame* plat_guarded_frame;
}

#endif
