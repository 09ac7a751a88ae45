// SPDX-License-Identifier: Apache-2.0
// Pools over a table of operations: a source of the caller's own.
#include <plat/pool_source.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "pool_fixture.h"

namespace plat::test {
namespace {

// Pages are numbers and addresses lead nowhere.
struct Numbers {
  uint64_t pages_left = 16;
  uint64_t next = 16_TiB;
  std::set<void*> ranges;
  std::map<void*, bool> pages;  // mapped
  std::map<void*, void*> mapped;
  bool busy = false;
  std::set<plat_stream> gone;
  int events = 0;
  bool fails = false;
  int finished = 0;

  static Numbers& of(void* user) { return *static_cast<Numbers*>(user); }
  static plat_pool_source_ops ops() {
    plat_pool_source_ops all = PLAT_POOL_SOURCE_OPS_INIT;
    all.total_bytes = 32_MiB;
    all.reserve = [](void* user, uint64_t bytes, void** base) {
      *base = reinterpret_cast<void*>(of(user).next);
      of(user).next += bytes + 1_GiB;
      return of(user).ranges.insert(*base), PLAT_POOL_OK;
    };
    all.unreserve = [](void* user, void* base) {
      return of(user).ranges.erase(base) == 1 ? PLAT_POOL_OK : PLAT_POOL_INVALID;
    };
    all.create_page = [](void* user, void** page) {
      if (of(user).fails) return PLAT_POOL_CORRUPT;
      if (of(user).pages_left == 0) return PLAT_POOL_NO_MEMORY;
      *page = reinterpret_cast<void*>(of(user).pages_left--);
      return of(user).pages[*page] = false, PLAT_POOL_OK;
    };
    all.destroy_page = [](void* user, void* page) {
      if (of(user).pages.erase(page) != 1) return PLAT_POOL_INVALID;
      return ++of(user).pages_left, PLAT_POOL_OK;
    };
    all.map_page = [](void* user, void* address, void* page) {
      if (std::exchange(of(user).pages.at(page), true)) return PLAT_POOL_INVALID;
      return of(user).mapped[address] = page, PLAT_POOL_OK;
    };
    all.unmap_page = [](void* user, void* address) {
      of(user).pages.at(of(user).mapped.at(address)) = false;
      return of(user).mapped.erase(address), PLAT_POOL_OK;
    };
    all.last_error = [](void*) { return "the numbers have run out"; };
    all.finish = [](void* user) { ++of(user).finished; };
    return all;
  }
  static plat_pool_source_ops ops_with_streams() {
    plat_pool_source_ops all = ops();
    all.stream_state = [](void* user, plat_stream stream) {
      if (of(user).gone.count(stream) != 0) return PLAT_POOL_STREAM_GONE;
      return of(user).busy ? PLAT_POOL_STREAM_BUSY : PLAT_POOL_STREAM_IDLE;
    };
    all.wait_for_stream = [](void* user, plat_stream) { return of(user).busy = false, PLAT_POOL_OK; };
    all.record_event = [](void* user, plat_stream, void** event) {
      ++of(user).events;
      return *event = user, PLAT_POOL_OK;
    };
    all.event_state = [](void* user, void*, int wait) {
      if (wait != 0) of(user).busy = false;
      return of(user).busy ? PLAT_POOL_STREAM_BUSY : PLAT_POOL_STREAM_IDLE;
    };
    all.destroy_event = [](void* user, void*) { --of(user).events; };
    return all;
  }
};

class PoolOverATable : public ::testing::Test {
 protected:
  void create(const plat_pool_source_ops& ops) {
    ASSERT_EQ(plat_pool_create_over(&ops, &numbers, nullptr, &pool), PLAT_POOL_OK) << plat_pool_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK) << plat_pool_last_error();
    EXPECT_TRUE(numbers.ranges.empty());
    EXPECT_TRUE(numbers.pages.empty());
    EXPECT_EQ(numbers.events, 0);
    EXPECT_EQ(numbers.finished, pool != nullptr ? 1 : 0);
  }
  void* take(uint64_t bytes, plat_stream stream = nullptr) {
    void* block = nullptr;
    EXPECT_EQ(plat_pool_alloc_on(pool, bytes, stream, &block), PLAT_POOL_OK) << plat_pool_last_error();
    return block;
  }
  static plat_stream stream(uintptr_t number) { return reinterpret_cast<plat_stream>(number << 4); }
  Numbers numbers;
  plat_pool* pool = nullptr;
};

TEST_F(PoolOverATable, DividesItsPagesAndGivesThemBack) {
  create(Numbers::ops());
  void* small = take(100);
  void* large = take(5_MiB);
  EXPECT_EQ(numbers.pages.size(), 4u);
  EXPECT_EQ(plat_pool_free(pool, small), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, large), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  EXPECT_TRUE(numbers.pages.empty());
}

TEST_F(PoolOverATable, SaysWhatTheSourceSays) {
  create(Numbers::ops());
  void* block = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 100_MiB, &block), PLAT_POOL_NO_MEMORY);
  EXPECT_NE(std::string(plat_pool_last_error()).find("the numbers have run out"), std::string::npos)
      << plat_pool_last_error();
  EXPECT_TRUE(numbers.pages.empty()) << "nothing is kept for nothing";
  numbers.fails = true;
  EXPECT_EQ(plat_pool_alloc(pool, 1_MiB, &block), PLAT_POOL_DEVICE);
  EXPECT_EQ(plat_pool_alloc_for(pool, 100, PLAT_POOL_HOST, &block), PLAT_POOL_UNSUPPORTED);
}

TEST_F(PoolOverATable, AsksItsStreams) {
  create(Numbers::ops_with_streams());
  numbers.busy = true;
  plat_pool_free_on(pool, take(20_MiB, stream(1)), stream(1));
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  EXPECT_EQ(numbers.pages.size(), 11u) << "the stream may still use it";
  EXPECT_NE(take(20_MiB, stream(2)), nullptr);
  EXPECT_FALSE(numbers.busy) << "it was waited for";
  numbers.gone.insert(stream(3));
  void* block = nullptr;
  EXPECT_EQ(plat_pool_alloc_on(pool, 100, stream(3), &block), PLAT_POOL_INVALID);
}

TEST_F(PoolOverATable, ServesBlocksAsWell) {
  plat_pool_source_ops ops = PLAT_POOL_SOURCE_OPS_INIT;
  ops.create_block = [](void*, uint64_t bytes, void** base) {
    return (*base = std::aligned_alloc(64, bytes)) != nullptr ? PLAT_POOL_OK : PLAT_POOL_NO_MEMORY;
  };
  ops.destroy_block = [](void*, void* base) { return std::free(base), PLAT_POOL_OK; };
  ops.finish = [](void* user) { ++Numbers::of(user).finished; };
  create(ops);
  std::vector<void*> blocks;
  for (uint64_t bytes : {100ul, 40000ul, 3_MiB}) {
    blocks.push_back(take(bytes));
    *static_cast<char*>(blocks.back()) = 1;
  }
  for (void* block : blocks) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
}

TEST_F(PoolOverATable, RefusesATableThatIsNotWhole) {
  auto refused = [&](plat_pool_source_ops ops) {
    EXPECT_EQ(plat_pool_create_over(&ops, &numbers, nullptr, &pool), PLAT_POOL_INVALID);
    EXPECT_EQ(pool, nullptr);
  };
  refused(PLAT_POOL_SOURCE_OPS_INIT);
  plat_pool_source_ops ops = Numbers::ops();
  ops.unmap_page = nullptr;
  refused(ops);
  ops = Numbers::ops_with_streams();
  ops.event_state = nullptr;
  refused(ops);
  ops = Numbers::ops();
  ops.create_block = [](void*, uint64_t, void**) { return PLAT_POOL_OK; };
  refused(ops);
  ops = Numbers::ops();
  ops.struct_size = 3;
  refused(ops);
  ops.struct_size = sizeof ops + 8;
  refused(ops);
}

}  // namespace
}  // namespace plat::test
