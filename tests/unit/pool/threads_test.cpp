// Several threads on one pool; run under ThreadSanitizer too.
#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

TEST_F(PoolTest, ServesThreadsThatFreeEachOthersBlocks) {
  device().capacity_bytes = 512_MiB;
  create();
  std::mutex mutex;
  std::vector<void*> shared;
  std::atomic<int> wrong{0};
  auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<void*> own;
    for (int i = 0; i < 4000; ++i) {
      const uint64_t bytes = 16ull << (random() % 15);
      void* block = nullptr;
      if (plat_pool_alloc_on(pool, bytes, random() % 4 ? nullptr : stream(static_cast<int>(seed)), &block) !=
          PLAT_POOL_OK) {
        ++wrong;
        continue;
      }
      static_cast<char*>(block)[0] = 1;  // TSan sees two owners of one block
      own.push_back(block);
      if (random() % 2 == 0) {
        std::lock_guard guard(mutex);
        shared.push_back(own.back());
        own.pop_back();
      }
      void* gone = nullptr;
      if (random() % 2 == 0) {
        std::lock_guard guard(mutex);
        if (!shared.empty()) {
          gone = shared.back();
          shared.pop_back();
        }
      } else if (!own.empty()) {
        gone = own.back();
        own.pop_back();
      }
      if (gone != nullptr && plat_pool_free(pool, gone) != PLAT_POOL_OK) ++wrong;
      if (i % 1000 == 0) plat_pool_trim(pool, 0);
      if (i % 500 == 0) stats();
    }
    for (void* block : own) plat_pool_free(pool, block);
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  for (void* block : shared) plat_pool_free(pool, block);
  EXPECT_EQ(wrong, 0);
  plat_pool_flush_thread(pool);
  EXPECT_EQ(stats().used_bytes, 0u);
  plat_pool_trim(pool, 0);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

TEST_F(PoolTest, GetsBackWhatAnotherThreadFreed) {
  create();
  std::vector<void*> blocks(64);
  uint64_t maps = 0;
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = take(100 + 500 * i);
    std::thread([&] {
      for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    }).join();
    if (round == 0) maps = stats().maps;
  }
  EXPECT_EQ(stats().maps, maps) << "the same memory did for all rounds";
  EXPECT_EQ(stats().live_blocks, 0u);
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 0u) << "what lay ready for other threads went too";
}

}  // namespace
}  // namespace plat::test
