// SPDX-License-Identifier: Apache-2.0
#include "support/failing_steps.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace plat::test {
namespace {

thread_local bool t_armed = false;
thread_local uint64_t t_steps = 0;
thread_local uint64_t t_fails_at = 0;
thread_local const char* t_failed = "";

// Whether the step that begins now is the one.
bool fails(const char* name) {
  if (!t_armed || ++t_steps != t_fails_at) return false;
  t_failed = name;
  return true;
}

template <class Function>
Function original(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void* allocate(size_t size, size_t alignment) {
  if (fails("operator new")) return nullptr;
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size == 0 ? 1 : size)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(size_t size, size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void arm_step(uint64_t n) {
  t_steps = 0;
  t_fails_at = n;
  t_failed = "";
  t_armed = true;
}

uint64_t disarm_steps() {
  t_armed = false;
  return t_steps;
}

const char* failed_step() { return t_failed; }

}  // namespace plat::test

using plat::test::fails;
using plat::test::original;

// NOLINTBEGIN: names and forms of the C library
void* operator new(size_t size) { return plat::test::allocate_or_throw(size, 1); }
void* operator new[](size_t size) { return plat::test::allocate_or_throw(size, 1); }
void* operator new(size_t size, std::align_val_t alignment) {
  return plat::test::allocate_or_throw(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return plat::test::allocate(size, 1); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return plat::test::allocate(size, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

// Each fails as the kernel may: errno, and the value that says so.
#define PLAT_STEP(result, name, declared, passed, code, failure)  \
  result name declared {                                          \
    if (fails(#name)) return errno = (code), (failure);           \
    static const auto real = original<result(*) declared>(#name); \
    return real passed;                                           \
  }

PLAT_STEP(void*, mmap, (void* at, size_t size, int protection, int flags, int fd, off_t offset),
          (at, size, protection, flags, fd, offset), ENOMEM, MAP_FAILED)
PLAT_STEP(int, mprotect, (void* at, size_t size, int protection), (at, size, protection), ENOMEM, -1)
PLAT_STEP(int, madvise, (void* at, size_t size, int advice), (at, size, advice), ENOMEM, -1)
PLAT_STEP(int, ftruncate, (int fd, off_t size), (fd, size), EIO, -1)
PLAT_STEP(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), ENOSPC, -1)
PLAT_STEP(int, memfd_create, (const char* name, unsigned flags), (name, flags), EMFILE, -1)
PLAT_STEP(ssize_t, pread, (int fd, void* to, size_t size, off_t at), (fd, to, size, at), EIO, -1)
PLAT_STEP(ssize_t, pwrite, (int fd, const void* from, size_t size, off_t at), (fd, from, size, at), ENOSPC,
          -1)
PLAT_STEP(ssize_t, read, (int fd, void* to, size_t size), (fd, to, size), EIO, -1)
#undef PLAT_STEP

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  if (fails("pthread_create")) return EAGAIN;
  static const auto real =
      original<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return real(thread, attributes, body, argument);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = va_arg(more, int);
  va_end(more);
  if (fails("open")) return errno = EMFILE, -1;
  static const auto real = original<int (*)(const char*, int, ...)>("open");
  return real(path, flags, mode);
}

// Only taking a lock may fail; giving it back does not.
int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  const bool takes = (command == F_OFD_SETLK || command == F_OFD_SETLKW) &&
                     static_cast<struct flock*>(argument)->l_type != F_UNLCK;
  if (takes && fails("fcntl")) return errno = ENOLCK, -1;
  static const auto real = original<int (*)(int, int, ...)>("fcntl");
  return real(fd, command, argument);
}
}
// NOLINTEND
