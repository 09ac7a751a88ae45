// SPDX-License-Identifier: Apache-2.0
// Blocks of whole pages, whatever is asked for and in whatever order.
#include <map>
#include <random>

#include "pool_fixture.h"

namespace plat::test {
namespace {

class WholePages : public PoolTest, public ::testing::WithParamInterface<plat_pool_source> {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    options.source = GetParam();
    options.whole_pages = 1;
  }
  static uint64_t page() { return GetParam() == PLAT_POOL_SOURCE_HOST ? 4_KiB : 2_MiB; }
};

TEST_P(WholePages, EveryBlockStartsAtAPageAndSharesNone) {
  create();
  std::mt19937 random(7);
  std::map<uint64_t, uint64_t> live;  // start, end
  for (int step = 0; step < 400; ++step) {
    if (live.size() >= 10 || (!live.empty() && random() % 3 == 0)) {
      const auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      EXPECT_EQ(plat_pool_free(pool, reinterpret_cast<void*>(victim->first)), PLAT_POOL_OK);
      live.erase(victim);
      continue;
    }
    const uint64_t bytes = step % 4 == 0 ? 1 + random() % 100 : 1 + random() % (3 * page());
    void* address = nullptr;
    if (plat_pool_alloc(pool, bytes, &address) != PLAT_POOL_OK) continue;  // the device is full
    const auto start = reinterpret_cast<uint64_t>(address);
    EXPECT_EQ(start % page(), 0u);
    uint64_t usable = 0, with_tail = 0;
    EXPECT_EQ(plat_pool_usable(pool, address, &usable, &with_tail), PLAT_POOL_OK);
    const uint64_t end = align_up(start + with_tail, page());
    const auto next = live.lower_bound(start);
    EXPECT_TRUE(next == live.end() || next->first >= end);
    EXPECT_TRUE(next == live.begin() || std::prev(next)->second <= start);
    live.emplace(start, end);
  }
}

TEST_P(WholePages, ResizeKeepsToThem) {
  create();
  void* first = take(100);
  void* second = take(100);
  EXPECT_EQ(plat_pool_resize(pool, first, page() - 64), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_resize(pool, first, 10 * page()), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(plat_pool_free(pool, second), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, first), PLAT_POOL_OK);
}

INSTANTIATE_TEST_SUITE_P(Sources, WholePages,
                         ::testing::Values(PLAT_POOL_SOURCE_VMM, PLAT_POOL_SOURCE_MALLOC,
                                           PLAT_POOL_SOURCE_HOST));

using WholePagesOption = PoolTest;

TEST_F(WholePagesOption, IsZeroOrOneAndSuitsTheRange) {
  options.whole_pages = 2;
  EXPECT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_INVALID);
  options.whole_pages = 1;
  options.source = PLAT_POOL_SOURCE_CALLER;
  options.caller_base = reinterpret_cast<void*>(uintptr_t{4_MiB} + 512);
  options.caller_bytes = 8_MiB;
  EXPECT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_INVALID);
  EXPECT_NE(std::string(plat_pool_last_error()).find("multiple of 2 MiB"), std::string::npos);
  options.caller_base = reinterpret_cast<void*>(uintptr_t{4_MiB});
  create();
  EXPECT_EQ(reinterpret_cast<uint64_t>(take(1)) % 2_MiB, 0u);
  EXPECT_EQ(reinterpret_cast<uint64_t>(take(1)) % 2_MiB, 0u);
}

// A caller that was built before there was the option is served as before.
TEST_F(WholePagesOption, IsOffForOlderCallers) {
  options.struct_size = offsetof(plat_pool_options, whole_pages);
  options.whole_pages = 1;
  create();
  void* first = take(64);
  void* second = take(64);
  EXPECT_LT(static_cast<char*>(second) - static_cast<char*>(first), static_cast<long>(64_KiB));
}

}  // namespace
}  // namespace plat::test
