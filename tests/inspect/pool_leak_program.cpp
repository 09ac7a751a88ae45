// SPDX-License-Identifier: Apache-2.0
// inspect_pool_leaks HOW: what is left of Plat's own pool at the end.
#include <cstring>

#include "inspect/program.h"
#include "plat/pool.h"

namespace {

void must_pool(plat_pool_status status) {
  if (status != PLAT_POOL_OK) std::exit(97);
}

plat_pool* make_pool() {
  plat_pool* pool = nullptr;
  must_pool(plat_pool_create(nullptr, &pool));
  return pool;
}

void* allocate(plat_pool* pool) {
  void* block = nullptr;
  must_pool(plat_pool_alloc(pool, 4096, &block));
  return block;
}

void use_pool(const char* how) {
  plat_pool* const pool = make_pool();
  void* const block = allocate(pool);
  if (std::strcmp(how, "freed") == 0) must_pool(plat_pool_free(pool, block));
  if (std::strcmp(how, "reset") == 0) must_pool(plat_pool_reset(pool));
  if (std::strcmp(how, "arena") == 0) {
    plat_arena* arena = nullptr;
    void* piece = nullptr;
    must_pool(plat_arena_create(pool, 1 << 20, &arena));
    for (int i = 0; i < 3; ++i) must_pool(plat_arena_alloc(arena, 4096, 64, &piece));
    must_pool(plat_arena_destroy(arena));
    must_pool(plat_pool_free(pool, block));
  }
  must_pool(plat_pool_destroy(pool));
}

}  // namespace

int main(int, char** arguments) {
  const char* const how = arguments[1];
  MUST(aclInit(nullptr));
  MUST(aclrtSetDevice(0));
  if (std::strncmp(how, "torch", 5) == 0) {
    // The pool behind these lives as long as the process.
    void* const block = plat_pool_torch_malloc(4096, 0, nullptr);
    if (std::strcmp(how, "torch_left") != 0) plat_pool_torch_free(block, 4096, 0, nullptr);
    return 0;
  }
  use_pool(how);
  MUST(aclrtResetDevice(0));
  MUST(aclFinalize());
}
