// SPDX-License-Identifier: Apache-2.0
// dlsym, so that a call which a program looks up in a handle of the device's library comes here too: ctypes
// does, and libraries that load the device at run time.
//
// A question about "the next one" or "the first one in the process" depends on who asks. It goes on to the C
// library by a jump, as if it had been asked there.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "inspect/record/hook.h"
#include "inspect/record/modules.h"

#if defined(__x86_64__) || defined(__aarch64__)

namespace plat::inspect {
namespace {

using Lookup = void* (*)(void*, const char*);

#if defined(__x86_64__)
constexpr char kFirstVersion[] = "GLIBC_2.2.5";
#else
constexpr char kFirstVersion[] = "GLIBC_2.17";
#endif

Lookup real_lookup() {
  static std::atomic<void*> found{nullptr};
  void* real = found.load(std::memory_order_acquire);
  if (real == nullptr) {
    // Since 2.34 it is part of the C library; before, it bore the first version of the architecture.
    real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (real == nullptr) real = dlvsym(RTLD_NEXT, "dlsym", kFirstVersion);
    found.store(real, std::memory_order_release);
  }
  return reinterpret_cast<Lookup>(real);
}

}  // namespace

void* look_up(void* library, const char* name) { return real_lookup()(library, name); }

namespace {

bool may_be_watched(const char* name) {
  return name != nullptr &&
         (std::strncmp(name, "acl", 3) == 0 || std::strncmp(name, "hi_mpi_dvpp_", 12) == 0);
}

// Our definition of a call; nullptr if it is not one that is watched.
void* own_definition(const char* name) {
  static void* const self = [] {
    Dl_info info{};
    const bool known = dladdr(reinterpret_cast<void*>(&may_be_watched), &info) != 0;
    return known ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  void* const own = self != nullptr ? look_up(self, name) : nullptr;
  return own != nullptr && is_own_code(reinterpret_cast<uintptr_t>(own)) ? own : nullptr;
}

}  // namespace
}  // namespace plat::inspect

extern "C" {

__attribute__((visibility("hidden"))) void* plat_inspect_real_lookup() {
  return reinterpret_cast<void*>(plat::inspect::real_lookup());
}

// Ours in place of the device's, if ours would go on to that very function and not to another library's.
__attribute__((visibility("hidden"))) void* plat_inspect_lookup(void* handle, const char* name) {
  using namespace plat::inspect;
  void* const found = look_up(handle, name);
  if (found == nullptr || !may_be_watched(name)) return found;
  void* const own = own_definition(name);
  return own != nullptr && find_next(name) == found ? own : found;
}
}

// RTLD_DEFAULT is 0 and RTLD_NEXT is -1; every other handle is looked up by us.
#if defined(__x86_64__)
asm(R"(
    .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    leaq 1(%rdi), %rax
    cmpq $1, %rax
    ja plat_inspect_lookup
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call plat_inspect_real_lookup
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size dlsym, .-dlsym
)");
#else
asm(R"(
    .text
    .globl dlsym
    .type dlsym, %function
    .p2align 2
dlsym:
    .cfi_startproc
    hint #34
    add x9, x0, #1
    cmp x9, #1
    b.ls 1f
    b plat_inspect_lookup
1:
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    stp x0, x1, [sp, #16]
    bl plat_inspect_real_lookup
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc
    .size dlsym, .-dlsym
)");
#endif

#else

namespace plat::inspect {
void* look_up(void* library, const char* name) { return dlsym(library, name); }
}  // namespace plat::inspect

#endif
