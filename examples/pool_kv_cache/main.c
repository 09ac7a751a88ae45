// SPDX-License-Identifier: Apache-2.0
/* A KV cache in C: addresses for the longest sequence, memory for the tokens there are; and a tag that sleeps
 * while somebody else needs the device. */
#include <acl/acl.h>
#include <plat/pool.h>
#include <stdio.h>

enum { TOKEN_BYTES = 64 << 10, LONGEST = 32768, SCRATCH_TAG = 1 };

static int must(plat_pool_status status, const char* what) {
  if (status == PLAT_POOL_OK) return 1;
  fprintf(stderr, "%s: %s: %s\n", what, plat_pool_status_name(status), plat_pool_last_error());
  return 0;
}

static int run(plat_pool* pool) {
  plat_kv_cache* cache = NULL;
  if (!must(plat_kv_create(pool, TOKEN_BYTES, LONGEST, &cache), "create the cache")) return 0;
  const void* base = plat_kv_base(cache);
  for (uint64_t tokens = 100; tokens <= 1600; tokens *= 4) {
    if (!must(plat_kv_set_tokens(cache, tokens), "grow")) return 0;
    printf("%5llu tokens at %p: %llu MiB backed\n", (unsigned long long)tokens, base,
           (unsigned long long)(plat_kv_backed_bytes(cache) >> 20));
  }
  if (!must(plat_kv_set_tokens(cache, 10), "shrink")) return 0;
  printf("   10 tokens at %p: %llu MiB backed\n", plat_kv_base(cache),
         (unsigned long long)(plat_kv_backed_bytes(cache) >> 20));

  void* scratch = NULL;
  const char text[] = "still here";
  char back[sizeof text] = "";
  if (!must(plat_pool_alloc_tagged(pool, 8 << 20, SCRATCH_TAG, &scratch), "allocate")) return 0;
  aclrtMemcpy(scratch, sizeof text, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE);
  if (!must(plat_pool_sleep(pool, SCRATCH_TAG, 1), "sleep")) return 0;
  if (!must(plat_pool_wake(pool, SCRATCH_TAG), "wake")) return 0;
  aclrtMemcpy(back, sizeof back, scratch, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("after sleep and wake: %s\n", back);
  return back[0] == text[0] && must(plat_pool_free(pool, scratch), "free") &&
         must(plat_kv_destroy(cache), "destroy the cache");
}

int main(void) {
  if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  plat_pool* pool = NULL;
  int good = must(plat_pool_create(NULL, &pool), "create the pool") && run(pool);
  plat_pool_destroy(pool);
  aclFinalize();
  return good ? 0 : 1;
}
