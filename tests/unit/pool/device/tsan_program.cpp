// SPDX-License-Identifier: Apache-2.0
// A program with ThreadSanitizer in it, over the pool without: `right` hands blocks from thread to thread as
// programs may, and nothing must be said about it; `wrong` writes to a block in two threads at once, and
// `wrong_visitor` to a number, once in a function that the pool calls.
#include <acl/acl.h>
#include <plat/pool.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

plat_pool* g_pool = nullptr;
std::atomic<int> g_refused{0};

char* take(uint64_t bytes) {
  void* block = nullptr;
  if (plat_pool_alloc(g_pool, bytes, &block) != PLAT_POOL_OK) ++g_refused;
  return static_cast<char*>(block);
}
void give(char* block) {
  if (plat_pool_free(g_pool, block) != PLAT_POOL_OK) ++g_refused;
}

// Small and large blocks, whole ones and parts of what another thread freed: memory goes around between the
// threads by way of the pool alone.
void hand_around() {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<char*> shared;
  for (uint64_t seed = 1; seed <= 3; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      std::vector<char*> own;
      for (int i = 0; i < 3000; ++i) {
        const uint64_t bytes = uint64_t{64} << random() % 13;
        char* const block = take(bytes);
        if (block == nullptr) continue;
        for (uint64_t at = 0; at < bytes; at += 64) block[at] = 1;
        own.push_back(block);
        if (own.size() < 40) continue;
        std::swap(own[random() % own.size()], own.back());
        char* gone = own.back();
        own.pop_back();
        if (i % 2 == 0) {
          std::lock_guard guard(mutex);
          shared.push_back(gone);
          std::swap(shared[random() % shared.size()], shared.back());
          gone = shared.back();
          shared.pop_back();
        }
        give(gone);
        if (i % 500 == 0) plat_pool_trim(g_pool, 0);
        plat_pool_stats stats;
        if (i % 100 == 0) plat_pool_get_stats(g_pool, &stats);
      }
      for (char* block : own) give(block);
    });
  for (std::thread& thread : threads) thread.join();
  for (char* block : shared) give(block);
}

void write_at_once() {
  char* const block = take(1000);
  std::thread other([block] { block[10] = 1; });
  block[10] = 2;
  other.join();
  give(block);
}

int g_number = 0;

int count_block(void*, const plat_pool_block*) { return ++g_number; }

void count_at_once() {
  char* const block = take(1000);
  std::thread other([] { ++g_number; });
  if (plat_pool_walk(g_pool, count_block, nullptr) != PLAT_POOL_OK) ++g_refused;
  other.join();
  give(block);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "right";
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 2;
  plat_pool_options options;
  plat_pool_options_init(&options);
  options.source = PLAT_POOL_SOURCE_HOST;
  if (plat_pool_create(&options, &g_pool) != PLAT_POOL_OK) return 3;
  kind == "wrong" ? write_at_once() : kind == "wrong_visitor" ? count_at_once() : hand_around();
  if (plat_pool_destroy(g_pool) != PLAT_POOL_OK) return 4;
  aclFinalize();
  std::printf("%d refused\n", g_refused.load());
  return g_refused == 0 ? 0 : 5;
}
