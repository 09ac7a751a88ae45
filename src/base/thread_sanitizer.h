// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer is told where the program has it and this library has not.
//
// It then sees what the C library is asked for here, but not the atomics and locks that order it, nor that
// memory passes from one thread to another. So what a library of ours does by itself is left out (Unwatched),
// the program's functions that it calls are looked at (Watched), and how these are ordered with the rest of
// the program, the tell_ functions say. Where the program has no ThreadSanitizer one comparison is all it
// costs; where the library itself is built with it, it does nothing.
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

namespace plat {
namespace tsan {

#ifndef PLAT_IS_INSTRUMENTED
// All four are there or none.
inline bool is_in_program() { return &__tsan_acquire != nullptr; }
// What a thread did before is seen by whoever is told_after the same.
inline void tell_before(void* what) {
  if (is_in_program()) [[unlikely]]
    __tsan_release(what);
}
inline void tell_after(void* what) {
  if (is_in_program()) [[unlikely]]
    __tsan_acquire(what);
}
inline void leave_out(bool begin) { begin ? __tsan_ignore_thread_begin() : __tsan_ignore_thread_end(); }
#else
inline constexpr bool is_in_program() { return false; }
inline void tell_before(void*) {}
inline void tell_after(void*) {}
inline void leave_out(bool) {}
#endif

inline constinit thread_local bool t_is_left_out = false;

// Until its end the calling thread is left out, or not, whatever was before. A thread must not end left out.
class Scope {
 public:
  explicit Scope(bool is_left_out) {
    if (is_in_program()) [[unlikely]]
      set(is_left_out);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    if (changed_) [[unlikely]]
      set(!t_is_left_out);
  }

 private:
  void set(bool is_left_out) {
    changed_ = std::exchange(t_is_left_out, is_left_out) != is_left_out;
    if (changed_) leave_out(is_left_out);
  }
  bool changed_ = false;
};

struct Unwatched : Scope {
  Unwatched() : Scope(true) {}
};
struct Watched : Scope {
  Watched() : Scope(false) {}
};

// A function of the program's.
template <class Function, class... Arguments>
auto watched(Function* function, Arguments... arguments) {
  const Watched scope;
  return function(arguments...);
}

}  // namespace tsan
}  // namespace plat
