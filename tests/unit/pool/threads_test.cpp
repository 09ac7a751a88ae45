// SPDX-License-Identifier: Apache-2.0
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

// A free finds its chunk while others go, and new ones take their places.
TEST_F(PoolTest, ServesThreadsWhileChunksComeAndGo) {
  device().capacity_bytes = 512_MiB;
  options.source = PLAT_POOL_SOURCE_MALLOC;
  options.release = PLAT_POOL_RELEASE_NOW;
  options.chunk_bytes = 2_MiB;
  create();
  std::atomic<int> wrong{0};
  auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<void*> own(6);
    for (int i = 0; i < 1500; ++i) {
      void*& block = own[random() % own.size()];
      if (plat_pool_free(pool, block) != PLAT_POOL_OK) ++wrong;
      const uint64_t bytes = random() % 4 == 0 ? 500 : 100_KiB + random() % 4_MiB;
      if (plat_pool_alloc(pool, bytes, &block) != PLAT_POOL_OK) ++wrong;
      static_cast<char*>(block)[bytes - 1] = 1;  // TSan sees two owners of one block
    }
    for (void* block : own)
      if (plat_pool_free(pool, block) != PLAT_POOL_OK) ++wrong;
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  plat_pool_trim(pool, 0);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

TEST_F(PoolTest, ServesThreadsFromEveryPurpose) {
  device().capacity_bytes = 512_MiB;
  options.chunk_bytes = 4_MiB;
  options.limit_bytes = 128_MiB;
  create();
  std::atomic<int> wrong{0};
  auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<void*> own;
    for (int i = 0; i < 1500; ++i) {
      void* block = nullptr;
      const auto purpose = static_cast<plat_pool_purpose>(random() % 4);
      if (plat_pool_alloc_for(pool, 16ull << (random() % 15), purpose, &block) != PLAT_POOL_OK) {
        ++wrong;
        continue;
      }
      static_cast<char*>(block)[0] = 1;
      own.push_back(block);
      if (own.size() > 20) {
        std::swap(own[random() % own.size()], own.back());
        if (plat_pool_free(pool, own.back()) != PLAT_POOL_OK) ++wrong;
        own.pop_back();
      }
      if (i % 300 == 0) plat_pool_trim(pool, 0);
      if (i % 100 == 0) stats();
    }
    for (void* block : own) plat_pool_free(pool, block);
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats().live_blocks, 0u);
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

// Destroyed after the thread's caches, because it is made before them.
struct Late {
  plat_pool* pool = nullptr;
  void* blocks[2] = {};
  std::atomic<int>* failures = nullptr;
  ~Late() {
    if (pool == nullptr) return;
    for (void* block : blocks) *failures += plat_pool_free(pool, block) != PLAT_POOL_OK;
    void* block = nullptr;
    *failures += plat_pool_alloc(pool, 100, &block) != PLAT_POOL_OK;
    *failures += plat_pool_free(pool, block) != PLAT_POOL_OK;
    *failures += plat_pool_flush_thread(pool) != PLAT_POOL_OK;
  }
};
thread_local Late late;

TEST_F(PoolTest, ServesAThreadWhoseCachesAreGone) {
  create();
  std::atomic<int> failures{0};
  std::thread([&] {
    late.failures = &failures;
    late.blocks[0] = take(100);
    late.blocks[1] = take(100_KiB);
    late.pool = pool;
  }).join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(stats().live_blocks, 0u);
}

// What one thread knows of streams must not be undone by another that looked a moment earlier.
TEST_F(PoolTest, WaitsForStreamsWhileOthersForgetTheirs) {
  create();
  void* other = take(100);
  std::atomic<bool> stop{false};
  std::vector<std::thread> noise;
  for (int i = 0; i < 3; ++i)
    noise.emplace_back([&] {
      while (!stop) {
        plat_pool_use_on(pool, other, stream(2));
        plat_pool_forget_stream(pool, stream(2));
      }
    });
  int missed = 0;
  for (int i = 0; i < 20000; ++i) {
    void* block = take(i % 2 == 0 ? 2000 : 200000);
    const uint64_t before = device().events_recorded;
    plat_pool_use_on(pool, block, stream(1));
    plat_pool_free(pool, block);
    missed += device().events_recorded == before;
  }
  stop = true;
  for (std::thread& thread : noise) thread.join();
  EXPECT_EQ(missed, 0);
}

// For ThreadSanitizer: the first space of either zone comes while others free and note uses.
TEST_F(PoolTest, OpensItsFirstSpacesBesideOtherThreads) {
  for (int i = 0; i < 50; ++i) {
    plat_pool* fresh = nullptr;
    ASSERT_EQ(plat_pool_create(&options, &fresh), PLAT_POOL_OK);
    const uint64_t first = i % 2 == 0 ? 100 : 100000;
    const uint64_t second = i % 2 == 0 ? 100000 : 100;
    std::atomic<int> ready{0};
    auto meet = [&] {
      ready.fetch_add(1, std::memory_order_relaxed);
      while (ready.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
    };
    std::thread user([&] {
      std::vector<void*> blocks(60);
      for (void*& block : blocks) plat_pool_alloc(fresh, first, &block);
      meet();
      for (void* block : blocks) {
        plat_pool_use_on(fresh, block, stream(1));
        plat_pool_free_on(fresh, block, stream(1));
      }
    });
    std::thread opener([&] {
      meet();
      void* block = nullptr;
      plat_pool_alloc(fresh, second, &block);
    });
    user.join();
    opener.join();
    EXPECT_EQ(plat_pool_destroy(fresh), PLAT_POOL_OK);
  }
}

}  // namespace
}  // namespace plat::test
