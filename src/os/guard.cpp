// SPDX-License-Identifier: Apache-2.0
#include "os/guard.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <ucontext.h>

#include <cstring>
#include <optional>

#include "os/guard_short.h"

namespace plat::os {

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local Fault t_fault{};

void copy_body(void* target, const void* source, size_t size_bytes) {
  std::memcpy(target, source, size_bytes);
}
void move_body(void* target, const void* source, size_t size_bytes) {
  std::memmove(target, source, size_bytes);
}
void fill_body(void* target, const void* value, size_t size_bytes) {
  std::memset(target, *static_cast<const uint8_t*>(value), size_bytes);
}

// An address as the kernel reports it. On aarch64 the processor ignores the highest byte of a pointer, in
// which programs keep tags, and the kernel has taken it off before it says where a fault was.
uint64_t untagged(uint64_t address) {
#if defined(__aarch64__)
  return static_cast<uint64_t>(static_cast<int64_t>(address << 8) >> 8);
#else
  return address;
#endif
}

// Where in what a guarded call was given the fault was, in the words of who called: with the tag, if it has
// one. Nothing if it was elsewhere. The kernel gives no address where a number is none.
template <class Frame>
std::optional<uint64_t> place_inside(const Frame& frame, uint64_t address, int code) {
  for (const uint64_t start : {frame.target, frame.source})
    if (const uint64_t offset = untagged(address) - untagged(start); offset < frame.size_bytes)
      return start + offset;
  if (code == SI_KERNEL) return address;
  return std::nullopt;
}

#ifdef PLAT_GUARD_ASSEMBLY

// The checks of a sanitizer that is in the program see what the C library is asked to do, and nothing else.
bool is_watched() {
  for (const char* name : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"})
    if (dlsym(RTLD_DEFAULT, name) != nullptr) return true;
  return false;
}

bool choose_short_copy(void* target, const void* source, size_t size_bytes) {
  const guard::ShortCopy chosen = is_watched()                    ? copy_long
                                  : __builtin_cpu_supports("avx") ? plat_short_copy_avx
                                                                  : plat_short_copy_sse;
  guard::short_copy.store(chosen, std::memory_order_relaxed);
  return chosen(target, source, size_bytes);
}

#else

// Elsewhere, and where sanitizers look at what the compiler makes: a jump out of the handler.
struct Frame {
  sigjmp_buf resume_here;
  const Frame* outer;
  uint64_t target;
  uint64_t source;
  uint64_t size_bytes;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local const Frame* volatile t_frame = nullptr;

#endif

}  // namespace

#ifdef PLAT_GUARD_ASSEMBLY

constinit std::atomic<guard::ShortCopy> guard::short_copy{choose_short_copy};

bool call(Body body, void* target, const void* source, size_t size_bytes) {
  return plat_guarded_call(body, target, source, size_bytes);
}

// Whether the frame is of a call that is still there. One that a handler of the program's jumped out of left
// it behind: then the stack pointer is above it, or another call has written over where the body returns to.
static bool is_there(const PlatGuardedFrame& frame, uint64_t stack_pointer) {
  const uint64_t* const return_place = reinterpret_cast<const uint64_t*>(&frame) - 2;
  return stack_pointer <= reinterpret_cast<uint64_t>(return_place) &&
         *return_place == reinterpret_cast<uint64_t>(plat_guarded_call_returns);
}

bool recover(int signal, const siginfo_t* info, void* context) {
  if (info->si_code <= 0) return false;  // sent by a process
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const auto at = static_cast<uint64_t>(registers[REG_RIP]);
  const auto place = [](const char* label) { return reinterpret_cast<uint64_t>(label); };
  if (at >= place(plat_short_copy_begin) && at < place(plat_short_copy_end)) {
    registers[REG_RIP] = static_cast<greg_t>(place(plat_short_copy_failed));
  } else if (const auto inside =
                 plat_guarded_frame == nullptr ||
                         !is_there(*plat_guarded_frame, static_cast<uint64_t>(registers[REG_RSP]))
                     ? std::nullopt
                     : place_inside(*plat_guarded_frame, address, info->si_code)) {
    address = *inside;
    constexpr greg_t kBackwards = 0x400;  // a copy may have been going down
    registers[REG_EFL] &= ~kBackwards;
    registers[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(plat_guarded_frame));
    registers[REG_RIP] = static_cast<greg_t>(place(plat_guarded_call_failed));
  } else {
    return false;
  }
  t_fault = {address, signal};
  return true;
}

#else

constinit std::atomic<guard::ShortCopy> guard::short_copy{copy_long};

bool call(Body body, void* target, const void* source, size_t size_bytes) {
  Frame frame;
  frame.outer = t_frame;
  frame.target = reinterpret_cast<uint64_t>(target);
  frame.source = reinterpret_cast<uint64_t>(source);
  frame.size_bytes = size_bytes;
  if (sigsetjmp(frame.resume_here, 0) != 0) {
    t_frame = t_frame->outer;
    return false;
  }
  t_frame = &frame;
  body(target, source, size_bytes);
  t_frame = frame.outer;
  return true;
}

// See is_there() above.
static uint64_t stack_pointer_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uint64_t>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return machine.sp;
#else
  static_cast<void>(machine);
  return 0;
#endif
}

bool recover(int signal, const siginfo_t* info, void* context) {
  if (info->si_code <= 0 || t_frame == nullptr) return false;
  if (stack_pointer_of(context) > reinterpret_cast<uint64_t>(t_frame)) return false;
  const auto inside = place_inside(*t_frame, reinterpret_cast<uint64_t>(info->si_addr), info->si_code);
  if (!inside) return false;
  t_fault = {*inside, signal};
  // What is blocked now depends on who called us; as when the handler returns, it becomes what it was.
  pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
  siglongjmp(const_cast<Frame*>(t_frame)->resume_here, 1);
}

#endif

bool copy_long(void* target, const void* source, size_t size_bytes) {
  return call(copy_body, target, source, size_bytes);
}

bool move(void* target, const void* source, size_t size_bytes) {
  return call(move_body, target, source, size_bytes);
}

bool fill(void* target, uint8_t value, size_t size_bytes) {
  return call(fill_body, target, &value, size_bytes);
}

Fault last_fault() { return t_fault; }

}  // namespace plat::os
