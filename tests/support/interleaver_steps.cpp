// SPDX-License-Identifier: Apache-2.0
// The answers to what a compiler calls in code for the thread sanitizer, and to the mutexes of the C library:
// each access to an atomic is a step of the interleaver, and does what it says.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <cstring>

#include "support/interleaver.h"

namespace steps = plat::test::steps;

namespace {

template <class Function>
Function original(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Takes the lock, or lets others go on until it is free.
template <class Try>
int take(const void* lock, const Try& attempt) {
  steps::step();
  for (;;) {
    const int result = attempt();
    if (result != EBUSY) return result;
    steps::wait_for(lock);
  }
}

}  // namespace

// NOLINTBEGIN: names and forms of the sanitizer and of the C library
extern "C" {

#define PLAT_CHANGE(type, bits, name)                                        \
  type __tsan_atomic##bits##_##name(volatile type* place, type value, int) { \
    steps::step();                                                           \
    return __atomic_##name(place, value, __ATOMIC_SEQ_CST);                  \
  }
#define PLAT_EXCHANGE(type, bits, strength)                                                                  \
  bool __tsan_atomic##bits##_compare_exchange_##strength(volatile type* place, type* known, type value, int, \
                                                         int) {                                              \
    steps::step();                                                                                           \
    return __atomic_compare_exchange_n(place, known, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }
#define PLAT_ATOMIC(type, bits)                                                                             \
  type __tsan_atomic##bits##_load(const volatile type* place, int) {                                        \
    steps::step();                                                                                          \
    return static_cast<type>(                                                                               \
        steps::loaded(const_cast<const type*>(place), __atomic_load_n(place, __ATOMIC_SEQ_CST)));           \
  }                                                                                                         \
  void __tsan_atomic##bits##_store(volatile type* place, type value, int) {                                 \
    steps::step();                                                                                          \
    __atomic_store_n(place, static_cast<type>(steps::stored(const_cast<const type*>(place), value)),        \
                     __ATOMIC_SEQ_CST);                                                                     \
  }                                                                                                         \
  type __tsan_atomic##bits##_exchange(volatile type* place, type value, int) {                              \
    steps::step();                                                                                          \
    return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                         \
  PLAT_CHANGE(type, bits, fetch_add)                                                                        \
  PLAT_CHANGE(type, bits, fetch_sub)                                                                        \
  PLAT_CHANGE(type, bits, fetch_and)                                                                        \
  PLAT_CHANGE(type, bits, fetch_or)                                                                         \
  PLAT_CHANGE(type, bits, fetch_xor)                                                                        \
  PLAT_EXCHANGE(type, bits, strong)                                                                         \
  PLAT_EXCHANGE(type, bits, weak)                                                                           \
  type __tsan_atomic##bits##_compare_exchange_val(volatile type* place, type known, type value, int, int) { \
    (void)__tsan_atomic##bits##_compare_exchange_strong(place, &known, value, 0, 0);                        \
    return known;                                                                                           \
  }

PLAT_ATOMIC(uint8_t, 8)
PLAT_ATOMIC(uint16_t, 16)
PLAT_ATOMIC(uint32_t, 32)
PLAT_ATOMIC(uint64_t, 64)

void __tsan_atomic_thread_fence(int) { steps::step(); }
void __tsan_atomic_signal_fence(int) {}

// Memory that is no atomic: no step.
#define PLAT_PLAIN(bytes)                     \
  void __tsan_read##bytes(void*) {}           \
  void __tsan_write##bytes(void*) {}          \
  void __tsan_volatile_read##bytes(void*) {}  \
  void __tsan_volatile_write##bytes(void*) {} \
  void __tsan_unaligned_read##bytes(void*) {} \
  void __tsan_unaligned_write##bytes(void*) {}
PLAT_PLAIN(1)
PLAT_PLAIN(2)
PLAT_PLAIN(4)
PLAT_PLAIN(8)
PLAT_PLAIN(16)
void __tsan_read_range(void*, size_t) {}
void __tsan_write_range(void*, size_t) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void* __tsan_memcpy(void* to, const void* from, size_t size) { return std::memcpy(to, from, size); }
void* __tsan_memmove(void* to, const void* from, size_t size) { return std::memmove(to, from, size); }
void* __tsan_memset(void* to, int value, size_t size) { return std::memset(to, value, size); }

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = original<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  return steps::is_scheduled() ? take(mutex, [&] { return pthread_mutex_trylock(mutex); }) : real(mutex);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  static const auto real = original<int (*)(pthread_mutex_t*)>("pthread_mutex_unlock");
  const int result = real(mutex);
  steps::let_go(mutex);
  return result;
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static const auto real = original<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  return steps::is_scheduled() ? take(lock, [&] { return pthread_rwlock_tryrdlock(lock); }) : real(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  static const auto real = original<int (*)(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  return steps::is_scheduled() ? take(lock, [&] { return pthread_rwlock_trywrlock(lock); }) : real(lock);
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  static const auto real = original<int (*)(pthread_rwlock_t*)>("pthread_rwlock_unlock");
  const int result = real(lock);
  steps::let_go(lock);
  return result;
}
}
// NOLINTEND
