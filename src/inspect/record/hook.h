// SPDX-License-Identifier: Apache-2.0
// One line for each call that is watched: PLAT_HOOK(when, name, (parameters), (arguments), fields...).
//
// The library defines the call itself, so that a program which was started with it preloaded comes here
// first. The call goes on to the next definition, and is then written down with its result.
#pragma once

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdio>

#include "acl/acl.h"
#include "inspect/record/recorder.h"
#include "inspect/record/sanitizer.h"
#include "inspect/record/stacks.h"

namespace plat::inspect {

// When a call counts as done. One that takes something counts from its end and one that gives something back
// from its beginning: so a block that another thread gets the moment it is free is never seen twice. One that
// waits is written twice, because it covers only what was there when it began.
enum class When : uint8_t { Before, After, Both };

// The address of the next definition of a call: the device's.
void* find_next(const char* name);
// dlsym as it is without us.
void* look_up(void* library, const char* name);

template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}

  Function get() {
    void* found = found_.load(std::memory_order_relaxed);
    if (__builtin_expect(found == nullptr, 0)) {
      found = find_next(name_);
      // One that is not there is looked for, and complained about, once.
      if (found == nullptr) found = this;
      found_.store(found, std::memory_order_relaxed);
    }
    return found != this ? reinterpret_cast<Function>(found) : nullptr;
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

// What a call returns that the library below does not have.
inline constexpr int kNotThere = 207000;  // ACL_ERROR_RT_FEATURE_NOT_SUPPORT

template <Op op, When when, class Call, class Fields>
__attribute__((always_inline)) inline int observe(const void* frame, Call&& call, Fields&& fields) {
  ThreadState& state = t_state;
  if (state.busy != Busy::No || !start()) return call();
  state.busy = Busy::InCall;
  EventHead head;
  if constexpr (when != When::After) head.ticks = state.begun = ticks();
  if constexpr (when == When::Both) {
    const Writing writing(state);
    head.stack = capture_stack(frame);
    head.begins = true;
    write<op>(head, fields(-1));
    head.begins = false;
  }
  head.result = call();
  if constexpr (when == When::Both) tell_after(&g_work_done);
  if constexpr (when != When::Before) head.ticks = ticks();
  {
    const Writing writing(state);
    if constexpr (when != When::Both) head.stack = capture_stack(frame);
    write<op>(head, fields(head.result));
  }
  state.busy = Busy::No;
  return head.result;
}

}  // namespace plat::inspect

#define PLAT_HOOK(when, name, parameters, arguments, ...)                                                 \
  extern "C" ACL_FUNC_VISIBILITY int name parameters {                                                    \
    static constinit ::plat::inspect::Next<decltype(&name)> next{#name};                                  \
    const auto target = next.get();                                                                       \
    if (target == nullptr) return ::plat::inspect::kNotThere;                                             \
    return ::plat::inspect::observe<::plat::inspect::Op::name, ::plat::inspect::When::when>(              \
        __builtin_frame_address(0), [&] { return target arguments; },                                     \
        [&]([[maybe_unused]] int result) {                                                                \
          return std::array<uint64_t, ::plat::inspect::words_of(::plat::inspect::Op::name)>{__VA_ARGS__}; \
        });                                                                                               \
  }

// Fields of a hook: a value, and what an output holds if the call succeeded.
#define V(value) ::plat::inspect::word(value)
#define OUT(pointer) (result == 0 && (pointer) != nullptr ? ::plat::inspect::word(*(pointer)) : 0)
