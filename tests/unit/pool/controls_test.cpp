// SPDX-License-Identifier: Apache-2.0
// What can be changed and asked while a pool lives: peaks, limits, its blocks and their owners; and options
// of the torch pair by environment.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

class Controls : public PoolTest {
 protected:
  static std::vector<plat_pool_block> blocks_of(plat_pool* which) {
    std::vector<plat_pool_block> all;
    const auto add = [](void* user, const plat_pool_block* block) {
      static_cast<std::vector<plat_pool_block>*>(user)->push_back(*block);
      return 1;
    };
    EXPECT_EQ(plat_pool_walk(which, add, &all), PLAT_POOL_OK);
    return all;
  }
  static void* owner_of(plat_pool* which, const void* address) {
    plat_pool_block block;
    return plat_pool_owner(which, address, &block) == PLAT_POOL_OK ? block.address : nullptr;
  }
};

TEST_F(Controls, PeaksStartAnew) {
  create();
  void* large = take(10_MiB);
  void* kept = take(3_MiB);
  plat_pool_free(pool, large);
  plat_pool_trim(pool, 0);
  EXPECT_GE(stats().used_peak, 13_MiB);
  EXPECT_GE(stats().reserved_peak, 14_MiB);
  ASSERT_EQ(plat_pool_reset_peaks(pool), PLAT_POOL_OK);
  EXPECT_EQ(stats().used_peak, stats().used_bytes);
  EXPECT_EQ(stats().reserved_peak, stats().reserved_bytes);
  large = take(6_MiB);
  EXPECT_GE(stats().used_peak, 9_MiB);
  EXPECT_LT(stats().used_peak, 13_MiB);
  plat_pool_free(pool, large);
  plat_pool_free(pool, kept);
}

// Blocks that come by the short way look for a new peak only where there can be one: also below the most that
// they ever had themselves, when others have more.
TEST_F(Controls, PeaksAreOfAllBlocksTogether) {
  create();
  plat_pool_free(pool, take(12_MiB));  // grows
  plat_pool_free(pool, take(12_MiB));
  EXPECT_LT(stats().used_peak, 13_MiB);
  void* tagged = nullptr;
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 8_MiB, 3, &tagged), PLAT_POOL_OK);
  plat_pool_free(pool, take(3_MiB));
  EXPECT_LT(stats().used_peak, 13_MiB);
  plat_pool_free(pool, take(6_MiB));
  EXPECT_GE(stats().used_peak, 14_MiB);
  EXPECT_LT(stats().used_peak, 15_MiB);
  // What sleeps is not used, and is again when it wakes.
  ASSERT_EQ(plat_pool_sleep(pool, 3, 0), PLAT_POOL_OK);
  void* large = take(11_MiB);
  EXPECT_LT(stats().used_peak, 15_MiB);
  ASSERT_EQ(plat_pool_wake(pool, 3), PLAT_POOL_OK);
  plat_pool_free(pool, tagged);
  EXPECT_GE(stats().used_peak, 19_MiB);
  plat_pool_free(pool, large);
  ASSERT_EQ(plat_pool_reset_peaks(pool), PLAT_POOL_OK);
  plat_pool_free(pool, take(2_MiB));
  EXPECT_GE(stats().used_peak, 2_MiB);
  EXPECT_LT(stats().used_peak, 3_MiB);
}

TEST_F(Controls, StatisticsHavePeaksOfTheirOwn) {
  create();
  plat_pool* counted = nullptr;
  ASSERT_EQ(plat_pool_with_statistics(pool, &counted), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc(counted, 5_MiB, &block), PLAT_POOL_OK);
  plat_pool_free(counted, block);
  EXPECT_GE(stats_of(counted).used_peak, 5_MiB);
  ASSERT_EQ(plat_pool_reset_peaks(counted), PLAT_POOL_OK);
  EXPECT_EQ(stats_of(counted).used_peak, 0u);
  plat_pool_destroy(counted);
}

TEST_F(Controls, ALowerLimitTakesWhatIsIdleAndStopsGrowth) {
  create();
  void* live = take(5_MiB);
  void* idle = take(20_MiB);
  plat_pool_free(pool, idle);
  EXPECT_GE(stats().reserved_bytes, 25_MiB);
  ASSERT_EQ(plat_pool_set_limits(pool, 8_MiB, 0), PLAT_POOL_OK);
  EXPECT_LE(stats().reserved_bytes, 8_MiB) << "what was idle is gone";
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 4_MiB, &address), PLAT_POOL_NO_MEMORY);
  EXPECT_NE(std::string(plat_pool_last_error()).find("limit of 8 MiB"), std::string::npos);
  ASSERT_EQ(plat_pool_set_limits(pool, 2_MiB, 0), PLAT_POOL_OK);
  EXPECT_GE(stats().reserved_bytes, 5_MiB) << "what is live stays";
  EXPECT_EQ(plat_pool_alloc(pool, 2_MiB, &address), PLAT_POOL_NO_MEMORY);
  ASSERT_EQ(plat_pool_set_limits(pool, 0, 0), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, take(40_MiB)), PLAT_POOL_OK) << "none any more";
  plat_pool_free(pool, live);
}

TEST_F(Controls, LimitsOfHostAndDeviceAreTwo) {
  options.host_limit_bytes = 2_MiB;
  options.chunk_bytes = 2_MiB;
  create();
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc_for(pool, 3_MiB, PLAT_POOL_HOST, &address), PLAT_POOL_NO_MEMORY);
  ASSERT_EQ(plat_pool_set_limits(pool, 0, 8_MiB), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_alloc_for(pool, 3_MiB, PLAT_POOL_HOST, &address), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_set_limits(pool, 4_MiB, 8_MiB), PLAT_POOL_OK);
  void* other = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 5_MiB, &other), PLAT_POOL_NO_MEMORY);
  plat_pool_free(pool, address);
}

TEST_F(Controls, AQuotaChangesToo) {
  create();
  plat_pool* limited = nullptr;
  ASSERT_EQ(plat_pool_with_limit(pool, 1_MiB, &limited), PLAT_POOL_OK);
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc(limited, 2_MiB, &address), PLAT_POOL_QUOTA);
  ASSERT_EQ(plat_pool_set_limits(limited, 4_MiB, 0), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_alloc(limited, 2_MiB, &address), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_set_limits(limited, 0, 0), PLAT_POOL_OK);
  void* more = nullptr;
  EXPECT_EQ(plat_pool_alloc(limited, 64, &more), PLAT_POOL_QUOTA);
  EXPECT_EQ(plat_pool_alloc(pool, 64, &more), PLAT_POOL_OK) << "the pool itself has no limit";
  plat_pool_free(pool, more);
  plat_pool_free(limited, address);
  plat_pool_destroy(limited);
}

// Against a map of what was handed out: every byte has its owner, and the walk meets each block once.
TEST_F(Controls, WalkAndOwnerKnowWhatIsLive) {
  options.chunk_bytes = 4_MiB;
  for (const auto source : {PLAT_POOL_SOURCE_VMM, PLAT_POOL_SOURCE_MALLOC}) {
    options.source = source;
    create();
    std::mt19937 random(3);
    std::map<char*, uint64_t> live;
    for (int step = 0; step < 1500; ++step) {
      if (!live.empty() && random() % 5 < 2) {
        const auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
        ASSERT_EQ(plat_pool_free_on(pool, victim->first, random() % 2 != 0 ? stream(1) : nullptr),
                  PLAT_POOL_OK);
        EXPECT_EQ(owner_of(pool, victim->first), nullptr);
        live.erase(victim);
        continue;
      }
      plat_pool_request request;
      request.bytes = random() % 4 == 0 ? 1 + random() % 200_KiB : 1 + random() % 2000;
      request.tag = static_cast<uint16_t>(random() % 3);
      request.stream = random() % 2 != 0 ? stream(1) : nullptr;
      if (random() % 8 == 0) request.purpose = PLAT_POOL_HOST;
      void* address = nullptr;
      if (plat_pool_alloc_request(pool, &request, &address) != PLAT_POOL_OK) continue;
      live.emplace(static_cast<char*>(address), request.bytes);
      plat_pool_block block;
      ASSERT_EQ(plat_pool_owner(pool, static_cast<char*>(address) + random() % request.bytes, &block),
                PLAT_POOL_OK);
      EXPECT_EQ(block.address, address);
      EXPECT_EQ(block.tag, request.tag);
      EXPECT_EQ(block.on_host, request.purpose == PLAT_POOL_HOST ? 1 : 0);
      EXPECT_EQ(block.asleep, 0);
      uint64_t usable = 0, with_tail = 0;
      plat_pool_usable(pool, address, &usable, &with_tail);
      EXPECT_EQ(block.bytes, usable);
      EXPECT_EQ(block.with_tail, with_tail);
      EXPECT_EQ(owner_of(pool, static_cast<char*>(address) + with_tail - 1), address);
    }
    const auto walked = blocks_of(pool);
    ASSERT_EQ(walked.size(), live.size());
    auto known = live.begin();
    for (const plat_pool_block& block : walked) {
      EXPECT_EQ(block.address, known->first);
      EXPECT_GE(block.bytes, known->second);
      ++known;
    }
    EXPECT_EQ(plat_pool_reset(pool), PLAT_POOL_OK);
    EXPECT_TRUE(blocks_of(pool).empty());
    plat_pool_destroy(pool);
    pool = nullptr;
  }
}

TEST_F(Controls, AWalkEndsWhenItIsToldAndMayFree) {
  create();
  std::vector<void*> mine;
  for (int i = 0; i < 10; ++i) mine.push_back(take(100_KiB));
  struct State {
    plat_pool* pool;
    int seen = 0;
  } state{pool};
  const auto visit = [](void* user, const plat_pool_block* block) {
    auto& its = *static_cast<State*>(user);
    EXPECT_EQ(plat_pool_free(its.pool, block->address), PLAT_POOL_OK);
    return ++its.seen < 4 ? 1 : 0;
  };
  ASSERT_EQ(plat_pool_walk(pool, visit, &state), PLAT_POOL_OK);
  EXPECT_EQ(state.seen, 4);
  EXPECT_EQ(stats().live_blocks, 6u);
}

// What is in it is read by tests/python/plat/test_snapshot.py.
TEST_F(Controls, ASnapshotIsWrittenWholeWhileOthersAllocate) {
  create();
  const auto folder = std::filesystem::path(testing::TempDir());
  const std::string path = folder / ("snapshot_" + std::to_string(getpid()) + ".pickle");
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) plat_pool_free(pool, take(3000));
  });
  for (int i = 0; i < 20; ++i) ASSERT_EQ(plat_pool_snapshot(pool, path.c_str()), PLAT_POOL_OK);
  done = true;
  other.join();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_GT(bytes.size(), 100u);
  EXPECT_EQ(bytes.substr(0, 2), "\x80\x02");
  EXPECT_EQ(bytes.back(), '.');
  std::filesystem::remove(path);
  EXPECT_EQ(plat_pool_snapshot(pool, (folder / "no" / "folder").c_str()), PLAT_POOL_INVALID);
  EXPECT_NE(std::string(plat_pool_last_error()).find("No such file"), std::string::npos);
  EXPECT_EQ(plat_pool_snapshot(pool, nullptr), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_snapshot(nullptr, path.c_str()), PLAT_POOL_INVALID);
}

TEST_F(Controls, WhatSleepsIsWalkedAndSaysSo) {
  create();
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 3_MiB, 4, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_sleep(pool, 4, 0), PLAT_POOL_OK);
  const auto all = blocks_of(pool);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].asleep, 1);
  EXPECT_EQ(all[0].tag, 4);
  ASSERT_EQ(plat_pool_wake(pool, 4), PLAT_POOL_OK);
  plat_pool_free(pool, block);
}

TEST_F(Controls, DecoratorsShowWhatIsTheirs) {
  create();
  plat_pool* counted = nullptr;
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_statistics(pool, &counted), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  void* plain = take(1000);
  void* through = nullptr;
  void* inside = nullptr;
  ASSERT_EQ(plat_pool_alloc(counted, 1000, &through), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_alloc(guarded, 1000, &inside), PLAT_POOL_OK);
  EXPECT_EQ(blocks_of(pool).size(), 3u);
  EXPECT_EQ(owner_of(counted, through), through);
  EXPECT_EQ(owner_of(counted, plain), nullptr);
  ASSERT_EQ(blocks_of(counted).size(), 1u);
  EXPECT_EQ(blocks_of(counted)[0].address, through);
  EXPECT_EQ(owner_of(guarded, static_cast<char*>(inside) + 999), inside);
  EXPECT_EQ(owner_of(guarded, static_cast<char*>(inside) - 1), nullptr) << "the guard is nobody's";
  EXPECT_EQ(owner_of(guarded, plain), nullptr);
  ASSERT_EQ(blocks_of(guarded).size(), 1u);
  EXPECT_EQ(blocks_of(guarded)[0].bytes, 1000u);
  plat_pool_free(guarded, inside);
  plat_pool_free(counted, through);
  plat_pool_free(pool, plain);
  plat_pool_destroy(guarded);
  plat_pool_destroy(counted);
}

TEST_F(Controls, RefuseWhatMakesNoSense) {
  create();
  plat_pool_block block;
  int number = 0;
  EXPECT_EQ(plat_pool_owner(nullptr, &number, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_owner(pool, nullptr, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_owner(pool, &number, nullptr), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_owner(pool, &number, &block), PLAT_POOL_NOT_OWNED);
  // Any address of a block will do, so it cannot be the middle of one that is at fault.
  EXPECT_NE(std::string(plat_pool_last_error()).find("lies in no live block"), std::string::npos);
  EXPECT_EQ(std::string(plat_pool_last_error()).find("middle"), std::string::npos);
  block.struct_size = 4;
  EXPECT_EQ(plat_pool_owner(pool, &number, &block), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_walk(pool, nullptr, nullptr), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_walk(
                nullptr, [](void*, const plat_pool_block*) { return 1; }, nullptr),
            PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_set_limits(nullptr, 0, 0), PLAT_POOL_INVALID);
  EXPECT_EQ(plat_pool_reset_peaks(nullptr), PLAT_POOL_INVALID);
  // A caller that knows fewer fields gets those.
  void* live = take(64);
  block = plat_pool_block{};
  block.struct_size = offsetof(plat_pool_block, with_tail);
  block.with_tail = 7;
  EXPECT_EQ(plat_pool_owner(pool, live, &block), PLAT_POOL_OK);
  EXPECT_EQ(block.address, live);
  EXPECT_EQ(block.with_tail, 7u);
}

TEST_F(Controls, ThreadsAskWhileOthersAllocate) {
  create();
  std::atomic<bool> done{false};
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 2; ++worker)
    workers.emplace_back([&, worker] {
      std::mt19937 random(static_cast<unsigned>(worker));
      for (int round = 0; round < 2000; ++round) {
        void* block = nullptr;
        if (plat_pool_alloc(pool, 1 + random() % 100_KiB, &block) != PLAT_POOL_OK) continue;
        EXPECT_EQ(owner_of(pool, block), block);
        EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
      }
    });
  std::thread asker([&] {
    for (uint64_t round = 0; !done; ++round) {
      // How many is not to be said: a worker may free what was seen and take what is seen next.
      const auto blocks = blocks_of(pool);
      EXPECT_TRUE(std::is_sorted(blocks.begin(), blocks.end(),
                                 [](const auto& a, const auto& b) { return a.address < b.address; }));
      for (const plat_pool_block& block : blocks) EXPECT_LE(block.bytes, block.with_tail);
      EXPECT_EQ(plat_pool_set_limits(pool, round % 2 != 0 ? 32_MiB : 0, 0), PLAT_POOL_OK);
      EXPECT_EQ(plat_pool_reset_peaks(pool), PLAT_POOL_OK);
    }
  });
  for (std::thread& worker : workers) worker.join();
  done = true;
  asker.join();
}

class TorchOptions : public Controls {
 protected:
  void TearDown() override { unsetenv("PLAT_POOL_TORCH"); }
};

// The pools of the pair live as long as the process, so each test has a device of its own.
TEST_F(TorchOptions, ComeFromTheEnvironment) {
  setenv("PLAT_POOL_TORCH", " limit = 4MiB, release=now ,thread_cache=0,", 1);
  plat_pool* torch = plat_pool_torch_pool(0);
  ASSERT_NE(torch, nullptr) << plat_pool_last_error();
  EXPECT_EQ(plat_pool_torch_malloc(6_MiB, 0, nullptr), nullptr);
  void* block = plat_pool_torch_malloc(1_MiB, 0, nullptr);
  ASSERT_NE(block, nullptr);
  plat_pool_torch_free(block, 1_MiB, 0, nullptr);
  plat_pool_forget_stream(torch, PLAT_POOL_DEFAULT_STREAM);
  EXPECT_EQ(stats_of(torch).reserved_bytes, 0u) << "release=now";
  setenv("PLAT_POOL_TORCH", "limit=1", 1);
  EXPECT_EQ(plat_pool_torch_pool(0), torch) << "read when the pool is made";
}

TEST_F(TorchOptions, AreRefusedWhenTheyAreNotUnderstood) {
  for (const char* text :
       {"limit", "limit=", "limit=many", "limits=1", "release=later", "source=host", "slack=x",
        "thread_cache=-1", "thread_cache=5000000000", "whole_pages=2", "limit=4MiB;release=now"}) {
    setenv("PLAT_POOL_TORCH", text, 1);
    EXPECT_EQ(plat_pool_torch_pool(1), nullptr) << text;
    EXPECT_EQ(plat_pool_torch_malloc(64, 1, nullptr), nullptr) << text;
    EXPECT_FALSE(std::string(plat_pool_last_error()).empty());
  }
  setenv("PLAT_POOL_TORCH", "", 1);
  EXPECT_NE(plat_pool_torch_pool(1), nullptr) << plat_pool_last_error();
}

}  // namespace
}  // namespace plat::test
