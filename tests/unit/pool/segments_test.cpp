// SPDX-License-Identifier: Apache-2.0
// The rules for divided memory: where a segment starts and how much of it is its own, for each call that can
// own the memory and each product.
#include <algorithm>
#include <ostream>
#include <vector>

#include "device/product.h"
#include "pool_fixture.h"

namespace plat::test {
namespace {

struct Rule {
  const char* name;
  plat_pool_source source;
  plat_pool_purpose purpose;
  uint64_t start;
  uint64_t tail;
  uint64_t tail_950;
};

// Memory mapped page by page, where the product has such, is divided as that of aclrtMalloc is.
constexpr Rule kRules[] = {
    {"mapped", PLAT_POOL_SOURCE_DEVICE, PLAT_POOL_COMPUTE, 64, 32, 0},
    {"mapped, for media", PLAT_POOL_SOURCE_DEVICE, PLAT_POOL_MEDIA, 128, 32, 0},
    {"mapped, for the host", PLAT_POOL_SOURCE_DEVICE, PLAT_POOL_HOST, 64, 32, 32},
    {"mapped, cached", PLAT_POOL_SOURCE_DEVICE, PLAT_POOL_CACHED, 64, 32, 0},
    {"aclrtMalloc", PLAT_POOL_SOURCE_MALLOC, PLAT_POOL_COMPUTE, 64, 32, 0},
    {"aclrtMalloc, for media", PLAT_POOL_SOURCE_MALLOC, PLAT_POOL_MEDIA, 128, 32, 0},
    {"acldvppMalloc", PLAT_POOL_SOURCE_MEDIA, PLAT_POOL_COMPUTE, 128, 32, 32},
    {"acldvppMalloc, for media", PLAT_POOL_SOURCE_MEDIA, PLAT_POOL_MEDIA, 128, 32, 32},
    {"aclrtMallocHost", PLAT_POOL_SOURCE_HOST, PLAT_POOL_COMPUTE, 64, 32, 32},
    {"aclrtMallocCached", PLAT_POOL_SOURCE_CACHED, PLAT_POOL_COMPUTE, 64, 32, 0},
};
std::ostream& operator<<(std::ostream& out, const Rule& rule) { return out << rule.name; }

class SegmentTest : public PoolTest, public ::testing::WithParamInterface<Rule> {};

TEST_P(SegmentTest, FollowsTheRuleOnEveryProduct) {
  const Rule& rule = GetParam();
  for (const device::Product& product : device::products()) {
    SCOPED_TRACE(product.soc_name);
    device().soc = product.soc_name;
    device().on_itself = product.runs_on_device;
    options.source = rule.source;
    options.chunk_bytes = 8_MiB;
    create();
    const uint64_t tail = product.padding_bytes == 0 ? rule.tail_950 : rule.tail;
    std::vector<std::pair<uint64_t, uint64_t>> segments;  // start, what is its own
    for (const uint64_t bytes :
         {uint64_t{1}, uint64_t{31}, uint64_t{32}, uint64_t{33}, uint64_t{64}, uint64_t{96}, uint64_t{97},
          uint64_t{100}, uint64_t{480}, uint64_t{481}, uint64_t{512}, uint64_t{4064}, uint64_t{4096},
          uint64_t{32736}, uint64_t{32737}, 64_KiB, 1_MiB - 32, 1_MiB, 2_MiB}) {
      for (int twin = 0; twin < 2; ++twin) {
        void* address = nullptr;
        ASSERT_EQ(plat_pool_alloc_for(pool, bytes, rule.purpose, &address), PLAT_POOL_OK)
            << plat_pool_last_error();
        const auto start = reinterpret_cast<uint64_t>(address);
        EXPECT_EQ(start % rule.start, 0u) << bytes;
        uint64_t exact = 0;
        uint64_t padded = 0;
        ASSERT_EQ(plat_pool_usable(pool, address, &exact, &padded), PLAT_POOL_OK);
        const uint64_t own = align_up(bytes, 32) + tail;
        EXPECT_GE(exact, bytes);
        EXPECT_GE(padded, own) << bytes;
        EXPECT_EQ(padded - exact, tail) << bytes;
        segments.emplace_back(start, padded);
      }
    }
    std::sort(segments.begin(), segments.end());
    for (size_t i = 0; i + 1 < segments.size(); ++i)
      EXPECT_LE(segments[i].first + segments[i].second, segments[i + 1].first);
    plat_pool_destroy(std::exchange(pool, nullptr));
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, SegmentTest, ::testing::ValuesIn(kRules));

// Blocks that fill pages with their tail take no page more.
TEST_F(PoolTest, HoldsWhatTheRuleSaysOfBlocksThatFillPages) {
  options.limit_bytes = 32_MiB;
  for (const uint64_t pages : {1, 2, 4}) {
    create();
    for (uint64_t i = 0; i < 16 / pages; ++i) take(pages * 2_MiB - 64);
    void* more = nullptr;
    EXPECT_EQ(plat_pool_alloc(pool, 100_KiB, &more), PLAT_POOL_NO_MEMORY);
    plat_pool_destroy(std::exchange(pool, nullptr));
  }
}

class TailTest : public PoolTest, public ::testing::WithParamInterface<int32_t> {};

// Whoever knows better may say how much belongs to a block behind its payload. New blocks and blocks that
// were used before have it.
TEST_P(TailTest, IsWhatTheOptionsSay) {
  options.tail_bytes = GetParam();
  const auto tail = static_cast<uint64_t>(GetParam());
  create();
  for (int round = 0; round < 2; ++round) {
    std::vector<std::pair<uint64_t, uint64_t>> segments;
    for (uint64_t bytes = 1; bytes < 5_MiB; bytes += 1 + bytes / 7) {
      void* address = take(bytes);
      uint64_t exact = 0;
      uint64_t padded = 0;
      ASSERT_EQ(plat_pool_usable(pool, address, &exact, &padded), PLAT_POOL_OK);
      EXPECT_GE(padded, align_up(bytes, 32) + tail) << bytes;
      EXPECT_EQ(padded - exact, tail) << bytes;
      segments.emplace_back(reinterpret_cast<uint64_t>(address), padded);
    }
    std::sort(segments.begin(), segments.end());
    for (size_t i = 0; i + 1 < segments.size(); ++i)
      EXPECT_LE(segments[i].first + segments[i].second, segments[i + 1].first);
    for (const auto& [start, bytes] : segments)
      ASSERT_EQ(plat_pool_free(pool, reinterpret_cast<void*>(start)), PLAT_POOL_OK);
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, TailTest,
                         ::testing::Values(0, 1, 31, 32, 33, 100, 512, 5000, 32767, 32768, 70000));

struct Example {
  plat_pool_purpose purpose;
  uint64_t bytes;
  uint64_t stride;
};

// Neighbours of one small size lie exactly one stride apart: nothing is lost between them either.
TEST_F(PoolTest, PacksSmallNeighboursByTheStrideOfTheRule) {
  for (const Example& example : {Example{PLAT_POOL_COMPUTE, 1, 64}, Example{PLAT_POOL_COMPUTE, 32, 64},
                                 Example{PLAT_POOL_COMPUTE, 33, 128}, Example{PLAT_POOL_COMPUTE, 64, 128},
                                 Example{PLAT_POOL_COMPUTE, 100, 192}, Example{PLAT_POOL_MEDIA, 1, 128},
                                 Example{PLAT_POOL_MEDIA, 96, 128}, Example{PLAT_POOL_MEDIA, 97, 256}}) {
    options.thread_cache = 0;
    create();
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(plat_pool_alloc_for(pool, example.bytes, example.purpose, &first), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_alloc_for(pool, example.bytes, example.purpose, &second), PLAT_POOL_OK);
    EXPECT_EQ(static_cast<uint64_t>(std::abs(static_cast<char*>(second) - static_cast<char*>(first))),
              example.stride)
        << example.bytes;
    plat_pool_destroy(std::exchange(pool, nullptr));
  }
}

}  // namespace
}  // namespace plat::test
