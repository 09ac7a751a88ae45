// SPDX-License-Identifier: Apache-2.0
// A small pool that tells mstx what it hands out, so that `plat check` sees its blocks and not only the one
// large piece that the pool took from the device.
//
//   plat check -- example_checked_pool            nothing is wrong
//   plat check -- example_checked_pool overrun    which block was overrun, and who has the next one?
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "mstx/ms_tools_ext.h"

#define POOL_SIZE ((size_t)1 << 20)
#define BLOCK_SIZE ((size_t)4096)
#define BLOCKS (POOL_SIZE / BLOCK_SIZE)

static void check(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  fprintf(stderr, "%s failed with %d: %s\n", call, code, aclGetRecentErrMsg());
  exit(1);
}
#define CHECK(call) check(call, #call)

typedef struct Pool {
  char* memory;
  mstxDomainHandle_t domain;
  mstxMemHeapHandle_t heap;
  mstxMemRegionHandle_t regions[BLOCKS];
  int taken[BLOCKS];
} Pool;

static void pool_open(Pool* pool) {
  memset(pool, 0, sizeof *pool);
  CHECK(aclrtMalloc((void**)&pool->memory, POOL_SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  pool->domain = mstxDomainCreateA("checked_pool");
  const mstxMemVirtualRangeDesc_t range = {0, pool->memory, POOL_SIZE};
  const mstxMemHeapDesc_t desc = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                  &range};
  pool->heap = mstxMemHeapRegister(pool->domain, &desc);  // NULL if nobody listens: nothing to do about it
}

static void pool_close(Pool* pool) {
  mstxMemHeapUnregister(pool->domain, pool->heap);  // before the memory goes
  mstxDomainDestroy(pool->domain);
  CHECK(aclrtFree(pool->memory));
}

// The region is as large as the user asked for: what lies between it and the next block is nobody's.
static char* pool_take(Pool* pool, size_t size) {
  size_t i = 0;
  while (i < BLOCKS && pool->taken[i]) ++i;
  if (i == BLOCKS || size > BLOCK_SIZE) return NULL;
  pool->taken[i] = 1;
  char* block = pool->memory + i * BLOCK_SIZE;
  const mstxMemVirtualRangeDesc_t range = {0, block, size};
  const mstxMemRegionsRegisterBatch_t batch = {pool->heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range,
                                               &pool->regions[i]};
  mstxMemRegionsRegister(pool->domain, &batch);  // before the pointer leaves the pool
  return block;
}

static void pool_give(Pool* pool, char* block) {
  const size_t i = (size_t)(block - pool->memory) / BLOCK_SIZE;
  mstxMemRegionRef_t ref;
  memset(&ref, 0, sizeof ref);
  ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
  ref.handle = pool->regions[i];
  const mstxMemRegionsUnregisterBatch_t batch = {1, &ref};
  mstxMemRegionsUnregister(pool->domain, &batch);  // before the block can be handed out again
  pool->taken[i] = 0;
}

int main(int argc, char** argv) {
  static char host[2 * BLOCK_SIZE];
  const int overrun = argc > 1 && strcmp(argv[1], "overrun") == 0;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  Pool pool;
  pool_open(&pool);
  for (int step = 0; step < 4; ++step) {
    char* weights = pool_take(&pool, 4096);
    char* input = pool_take(&pool, 1024);
    // The mistake: the device lets it pass, because all of the pool is one block to it.
    CHECK(aclrtMemcpy(weights, POOL_SIZE, host, overrun ? 4096 + 512 : 4096, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(input, 1024, host, 1024, ACL_MEMCPY_HOST_TO_DEVICE));
    pool_give(&pool, input);
    pool_give(&pool, weights);
    mstxMarkA("step", NULL);
  }
  pool_close(&pool);
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  printf("four steps are done\n");
  return 0;
}
