// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer is told where the program has it and this library has not.
//
// It then sees what the C library is asked for here, but not the atomics that order it: what this library
// does by itself is left out (Unwatched), and only the client's functions that it calls are looked at
// (Watched). How these are ordered with the rest of the program, the tell_ functions say. All of it is for
// slow paths; where the library itself is built with ThreadSanitizer it does nothing.
#pragma once

#include <utility>

#if defined(__SANITIZE_THREAD__)
#define PLAT_IS_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLAT_IS_INSTRUMENTED 1
#endif
#endif

#ifndef PLAT_IS_INSTRUMENTED
extern "C" {
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __tsan_ignore_thread_begin();
[[gnu::weak]] void __tsan_ignore_thread_end();
}
#endif

namespace plat::os::tsan {

#ifndef PLAT_IS_INSTRUMENTED
inline bool is_in_program() {
  return &__tsan_acquire != nullptr && &__tsan_release != nullptr && &__tsan_ignore_thread_begin != nullptr &&
         &__tsan_ignore_thread_end != nullptr;
}
// What comes before is seen by whoever is told_after the same.
inline void tell_before(void* what) {
  if (is_in_program()) __tsan_release(what);
}
inline void tell_after(void* what) {
  if (is_in_program()) __tsan_acquire(what);
}
inline void leave_out(bool begin) {
  if (is_in_program()) begin ? __tsan_ignore_thread_begin() : __tsan_ignore_thread_end();
}
#else
inline bool is_in_program() { return false; }
inline void tell_before(void*) {}
inline void tell_after(void*) {}
inline void leave_out(bool) {}
#endif

inline constinit thread_local bool t_is_left_out = false;

// Until its end the calling thread is left out, or not, whatever was before. A thread must not end left out.
class Scope {
 public:
  explicit Scope(bool is_left_out) : before_(std::exchange(t_is_left_out, is_left_out)) {
    if (before_ != is_left_out) leave_out(is_left_out);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    if (before_ != t_is_left_out) leave_out(before_);
    t_is_left_out = before_;
  }

 private:
  bool before_;
};

struct Unwatched : Scope {
  Unwatched() : Scope(true) {}
};
struct Watched : Scope {
  Watched() : Scope(false) {}
};

// Work of the client's that was handed over, and work that is done, of all streams.
inline char g_handed_over, g_done;

}  // namespace plat::os::tsan
