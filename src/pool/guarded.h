// SPDX-License-Identifier: Apache-2.0
// What stands at every C entry point that may need host memory: no exception leaves it.
#pragma once

#include <new>
#include <utility>

#include "base/thread_sanitizer.h"
#include "pool/resource.h"

namespace plat::pool {

// The records are host memory too: running out of that is out of memory like any other.
template <class Call>
plat_pool_status caught(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return report(PLAT_POOL_NO_MEMORY, "the host has no memory for the records of the pool");
  }
}

// The same, and ThreadSanitizer does not look.
template <class Call>
plat_pool_status guarded(Call&& call) {
  const tsan::Unwatched unwatched;
  return caught(std::forward<Call>(call));
}

inline plat_pool_status of_another_process() {
  return report(PLAT_POOL_INVALID,
                "the pool is that of the process which this one was forked from, and so is its memory; call "
                "aclInit and make a pool of your own");
}

// The same for a call on a pool, or on something that is made of it; refused in a forked child.
template <class Call>
plat_pool_status guarded(const plat_pool& pool, Call&& call) {
  if (!pool.made.is_here()) [[unlikely]]
    return of_another_process();
  return guarded(std::forward<Call>(call));
}
// For what is tried at once first, which is closed where ThreadSanitizer is: the rest says Unwatched itself.
template <class Call>
plat_pool_status guarded_at_once(const plat_pool& pool, Call&& call) {
  if (!pool.made.is_here()) [[unlikely]]
    return of_another_process();
  return caught(std::forward<Call>(call));
}

}  // namespace plat::pool
