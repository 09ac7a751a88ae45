// SPDX-License-Identifier: Apache-2.0
/* The pool as a user's program finds it: by header and library, and by name, as a framework loads an
 * allocator. */
#include <acl/acl.h>
#include <dlfcn.h>
#include <plat/pool.h>
#include <stdio.h>

typedef void* (*torch_malloc)(size_t size, int device, void* stream);
typedef void (*torch_free)(void* address, size_t size, int device, void* stream);

int main(void) {
  if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  plat_pool* pool = NULL;
  void* block = NULL;
  if (plat_pool_create(NULL, &pool) != PLAT_POOL_OK) return 2;
  if (plat_pool_alloc(pool, 1000, &block) != PLAT_POOL_OK) return 3;
  plat_pool_stats stats = PLAT_POOL_STATS_INIT;
  plat_pool_request request = PLAT_POOL_REQUEST_INIT;
  if (plat_pool_get_stats(pool, &stats) != PLAT_POOL_OK || stats.live_blocks != 1) return 10;
  if (request.struct_size != sizeof request) return 11;
  if (plat_pool_free(pool, block) != PLAT_POOL_OK || plat_pool_destroy(pool) != PLAT_POOL_OK) return 4;

  void* library = dlopen("libplat_pool.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 5;
  torch_malloc allocate = (torch_malloc)dlsym(library, "plat_pool_torch_malloc");
  torch_free release = (torch_free)dlsym(library, "plat_pool_torch_free");
  if (allocate == NULL || release == NULL) return 6;
  aclrtStream stream = NULL;
  if (aclrtCreateStream(&stream) != ACL_SUCCESS) return 7;
  void* tensor = allocate(3 << 20, 0, stream);
  if (tensor == NULL || aclrtMemsetAsync(tensor, 3 << 20, 1, 3 << 20, stream) != ACL_SUCCESS) return 8;
  release(tensor, 3 << 20, 0, stream);
  if (allocate(3 << 20, 0, stream) != tensor) return 9; /* the same stream has it again at once */
  printf("pool client ran on %s\n", aclrtGetSocName());
  return 0;
}
