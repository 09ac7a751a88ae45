// SPDX-License-Identifier: Apache-2.0
// A forked child with the pools of its parent. Other threads work on them at the moment of the fork, so that
// it inherits locks which nobody will ever leave.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

// What a child says of itself by its exit code; -1 when it was killed.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // one that hangs is killed
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class PoolInAChild : public PoolTest {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    create();
    small_ = take(100);
    large_ = take(3_MiB);
    ASSERT_EQ(plat_arena_create(pool, 0, &arena_), PLAT_POOL_OK);
    ASSERT_EQ(plat_kv_create(pool, 1000, 1000, &cache_), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_with_limit(pool, 1_GiB, &limit_), PLAT_POOL_OK);
  }
  void TearDown() override {
    EXPECT_EQ(plat_pool_destroy(limit_), PLAT_POOL_OK);
    EXPECT_EQ(plat_arena_destroy(arena_), PLAT_POOL_OK);
    EXPECT_EQ(plat_kv_destroy(cache_), PLAT_POOL_OK);
    PoolTest::TearDown();
  }
  // The number of the first call that is not refused; 0 when all are.
  int first_that_is_not_refused() {
    void* block = nullptr;
    uint64_t bytes = 0;
    plat_pool_stats stats = PLAT_POOL_STATS_INIT;
    const std::vector<plat_pool_status> answers = {
        plat_pool_alloc(pool, 100, &block),
        plat_pool_alloc(pool, 3_MiB, &block),
        plat_pool_free(pool, small_),
        plat_pool_free(pool, large_),
        plat_pool_alloc_tagged(pool, 100, 3, &block),
        plat_pool_free_on(pool, large_, stream(1)),
        plat_pool_use_on(pool, large_, stream(1)),
        plat_pool_usable(pool, large_, &bytes, nullptr),
        plat_pool_get_stats(pool, &stats),
        plat_pool_trim(pool, 0),
        plat_pool_reset(pool),
        plat_pool_flush_thread(pool),
        plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 0),
        plat_pool_alloc(limit_, 100, &block),
        plat_pool_destroy(limit_),
        plat_arena_alloc(arena_, 100, 0, &block),
        plat_arena_destroy(arena_),
        plat_kv_set_tokens(cache_, 10),
        plat_kv_destroy(cache_),
        plat_pool_destroy(pool),
    };
    for (size_t i = 0; i < answers.size(); ++i)
      if (answers[i] != PLAT_POOL_INVALID) return static_cast<int>(i) + 1;
    return std::string(plat_pool_last_error()).find("forked") != std::string::npos ? 0 : 100;
  }
  void* small_ = nullptr;
  void* large_ = nullptr;
  plat_arena* arena_ = nullptr;
  plat_kv_cache* cache_ = nullptr;
  plat_pool* limit_ = nullptr;
};

TEST_F(PoolInAChild, IsRefused) {
  EXPECT_EQ(in_child([&] { return first_that_is_not_refused(); }), 0);
  EXPECT_EQ(plat_pool_free(pool, small_), PLAT_POOL_OK) << "the parent is not disturbed";
  EXPECT_EQ(plat_pool_free(pool, large_), PLAT_POOL_OK);
}

TEST_F(PoolInAChild, IsRefusedWhileThreadsOfTheParentHoldItsLocks) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      while (!stop) {
        void* block = nullptr;
        if (plat_pool_alloc_on(pool, t == 0 ? 20000 : 100_KiB, stream(t), &block) == PLAT_POOL_OK)
          plat_pool_free_on(pool, block, stream(t));
        if (t == 2) plat_pool_trim(pool, 0);
      }
      plat_pool_flush_thread(pool);
    });
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(in_child([&] { return first_that_is_not_refused(); }), 0);
  stop = true;
  for (auto& thread : threads) thread.join();
}

// What was made by other means than fork() runs no handler; the system tells all the same.
TEST_F(PoolInAChild, IsRefusedHoweverTheChildWasMade) {
  plat_pool_flush_thread(pool);
  const pid_t child = ::_Fork();
  if (child == 0) {
    alarm(60);
    void* block = nullptr;
    _exit(plat_pool_alloc(pool, 3_MiB, &block) == PLAT_POOL_INVALID &&
                  plat_pool_alloc_tagged(pool, 100, 3, &block) == PLAT_POOL_INVALID &&
                  plat_pool_free(pool, large_) == PLAT_POOL_INVALID
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(PoolInAChild, LeavesTheChildToPoolsOfItsOwn) {
  EXPECT_EQ(in_child([&] {
              reset_device();  // a device of its own
              plat_pool* own = nullptr;
              void* block = nullptr;
              if (plat_pool_create(nullptr, &own) != PLAT_POOL_OK) return 1;
              for (uint64_t bytes : {uint64_t{100}, 3_MiB}) {
                if (plat_pool_alloc(own, bytes, &block) != PLAT_POOL_OK) return 2;
                if (plat_pool_free(pool, block) != PLAT_POOL_INVALID) return 3;
                if (plat_pool_free(own, block) != PLAT_POOL_OK) return 4;
              }
              return plat_pool_destroy(own) == PLAT_POOL_OK ? 0 : 5;
            }),
            0);
}

}  // namespace
}  // namespace plat::test
