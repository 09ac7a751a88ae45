// SPDX-License-Identifier: Apache-2.0
// inspect_stacks: leaves a block of the pool and one of another allocator behind. The lines that asked for
// them are in here, and everything else that stands on the stack is not the program's.
#include <cstdio>
#include <vector>

#include "inspect/other_allocator.h"
#include "inspect/program.h"
#include "plat/pool.h"

namespace {

plat_pool* make_pool() {
  plat_pool* pool = nullptr;
  if (plat_pool_create(nullptr, &pool) != PLAT_POOL_OK) std::exit(97);
  return pool;
}

__attribute__((noinline)) void ask_the_pool(plat_pool* pool) {
  void* block = nullptr;
  if (plat_pool_alloc(pool, 4096, &block) != PLAT_POOL_OK) std::exit(97);
}

// Named as functions of the C library are, or begin, that stand below every thread.
__attribute__((noinline)) void clone_weights(plat_pool* pool) {
  ask_the_pool(pool);
  std::fflush(stdout);  // a call behind it, so that this one is no jump
}
extern "C" __attribute__((noinline)) void start_thread(plat_pool* pool) {
  clone_weights(pool);
  std::fflush(stdout);
}

__attribute__((noinline)) void ask_the_other() {
  // Through a header of the system, which is nobody's line either.
  std::vector<int> one{1};
  for (const int count : one) other_allocate(static_cast<size_t>(count) * 4096);
}

}  // namespace

int main() {
  programs::Device device;
  plat_pool* const pool = make_pool();
  start_thread(pool);
  ask_the_other();
}
