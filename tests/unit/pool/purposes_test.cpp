// SPDX-License-Identifier: Apache-2.0
// One pool for compute, media, host and cached memory.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

class PurposeTest : public PoolTest {
 protected:
  // Counts which calls of the device bring memory.
  void watch() {
    device().watch = [this](const char* call) { ++calls[call]; };
  }
  void* take_for(plat_pool_purpose purpose, uint64_t bytes, uint16_t tag = 0, plat_stream on = nullptr) {
    plat_pool_request request{};
    request.bytes = bytes;
    request.purpose = purpose;
    request.tag = tag;
    request.stream = on;
    void* address = nullptr;
    EXPECT_EQ(plat_pool_alloc_request(pool, &request, &address), PLAT_POOL_OK) << plat_pool_last_error();
    return address;
  }
  std::map<std::string, int> calls;
};

TEST_F(PurposeTest, TakesEachFromTheCallThatOwnsIt) {
  options.chunk_bytes = 4_MiB;
  create();
  watch();
  void* compute = take_for(PLAT_POOL_COMPUTE, 100_KiB);
  EXPECT_EQ(calls["aclrtMallocHost"] + calls["aclrtMallocCached"], 0) << "opened when first asked for";
  void* host = take_for(PLAT_POOL_HOST, 100_KiB);
  void* cached = take_for(PLAT_POOL_CACHED, 100_KiB);
  void* media = take_for(PLAT_POOL_MEDIA, 100);
  take_for(PLAT_POOL_HOST, 100);
  take_for(PLAT_POOL_CACHED, 100);
  EXPECT_EQ(calls["aclrtMallocHost"], 2) << "a chunk for large blocks and one for small ones";
  EXPECT_EQ(calls["aclrtMallocCached"], 2);
  EXPECT_EQ(reinterpret_cast<uint64_t>(media) % 128, 0u);
  EXPECT_EQ(stats().host_bytes, 8_MiB);
  EXPECT_EQ(stats().reserved_bytes, device().held_bytes + stats().host_bytes);
  EXPECT_EQ(stats().reserved_peak, stats().reserved_bytes);
  EXPECT_EQ(stats().live_blocks, 6u);
  for (void* block : {compute, host, cached, media}) EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(stats().live_blocks, 2u);
}

TEST_F(PurposeTest, FindsTheOwnerOfABlockByItsAddress) {
  options.chunk_bytes = 4_MiB;
  create();
  for (const auto purpose : {PLAT_POOL_HOST, PLAT_POOL_CACHED})
    for (const uint64_t bytes : {uint64_t{200}, 200_KiB}) {
      void* block = take_for(purpose, bytes);
      uint64_t usable = 0;
      EXPECT_EQ(plat_pool_usable(pool, block, &usable, nullptr), PLAT_POOL_OK);
      EXPECT_GE(usable, bytes);
      EXPECT_EQ(plat_pool_resize(pool, block, bytes / 2), PLAT_POOL_OK) << plat_pool_last_error();
      device().streams_finish = false;
      EXPECT_EQ(plat_pool_use_on(pool, block, stream(1)), PLAT_POOL_OK);
      EXPECT_EQ(plat_pool_free_on(pool, block, stream(2)), PLAT_POOL_OK);
      EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
      EXPECT_EQ(plat_pool_usable(pool, block, nullptr, nullptr), PLAT_POOL_NOT_OWNED);
      device().streams_finish = true;
      device().finish();
      EXPECT_EQ(plat_pool_forget_stream(pool, stream(1)), PLAT_POOL_OK);
      EXPECT_EQ(plat_pool_forget_stream(pool, stream(2)), PLAT_POOL_OK);
      EXPECT_EQ(plat_pool_free(pool, take_for(purpose, bytes)), PLAT_POOL_OK);
    }
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

TEST_F(PurposeTest, CountsCachedMemoryUnderTheLimitAndHostMemoryUnderItsOwn) {
  options.limit_bytes = 16_MiB;
  options.host_limit_bytes = 6_MiB;
  options.chunk_bytes = 4_MiB;
  create();
  void* refused = nullptr;
  void* compute = take(7_MiB);
  take_for(PLAT_POOL_CACHED, 3_MiB);
  EXPECT_EQ(plat_pool_alloc_for(pool, 5_MiB, PLAT_POOL_CACHED, &refused), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(plat_pool_alloc(pool, 5_MiB, &refused), PLAT_POOL_NO_MEMORY);
  EXPECT_LE(device().held_bytes, 16_MiB);
  take_for(PLAT_POOL_HOST, 3_MiB);
  EXPECT_EQ(plat_pool_alloc_for(pool, 3_MiB, PLAT_POOL_HOST, &refused), PLAT_POOL_NO_MEMORY);
  const std::string why = plat_pool_last_error();
  EXPECT_NE(why.find("limit of 6 MiB"), std::string::npos) << why;
  // Idle pages of the one are room for the other.
  EXPECT_EQ(plat_pool_free(pool, compute), PLAT_POOL_OK);
  take_for(PLAT_POOL_CACHED, 7_MiB);
  EXPECT_LE(device().held_bytes, 16_MiB);
}

TEST_F(PurposeTest, TakesIdleCachedMemoryForComputeOnAFullDevice) {
  options.chunk_bytes = 40_MiB;
  create();
  EXPECT_EQ(plat_pool_free(pool, take_for(PLAT_POOL_CACHED, 39_MiB)), PLAT_POOL_OK);
  EXPECT_NE(take(50_MiB), nullptr);
}

TEST_F(PurposeTest, TakesWhatIsNeededWhereAChunkIsTooMuch) {
  device().capacity_bytes = 40_MiB;
  options.source = PLAT_POOL_SOURCE_MALLOC;
  options.chunk_bytes = 64_MiB;
  create();
  EXPECT_NE(take(10_MiB), nullptr);
  take_for(PLAT_POOL_CACHED, 1_MiB);
}

TEST_F(PurposeTest, CountsTagsOverAllPurposes) {
  options.chunk_bytes = 4_MiB;
  create();
  take_for(PLAT_POOL_HOST, 1_MiB, 5);
  take_for(PLAT_POOL_COMPUTE, 1_MiB, 5);
  take_for(PLAT_POOL_HOST, 1_MiB);
  uint64_t used = 0;
  uint64_t reserved = 0;
  ASSERT_EQ(plat_pool_tag_bytes(pool, 5, &used, &reserved), PLAT_POOL_OK);
  EXPECT_GE(used, 2_MiB);
  EXPECT_LT(used, 3_MiB);
  EXPECT_EQ(reserved, 6_MiB);
  EXPECT_GE(stats().used_peak, 3_MiB);
}

// The peak is of everything at one time, whichever block came last.
TEST_F(PurposeTest, RemembersThePeakOfAllKindsTogether) {
  create();
  std::vector<void*> blocks{take_for(PLAT_POOL_HOST, 3_MiB), take_for(PLAT_POOL_COMPUTE, 20_MiB, 5),
                            take_for(PLAT_POOL_COMPUTE, 4_MiB), take_for(PLAT_POOL_COMPUTE, 5_MiB)};
  for (void* block : blocks) ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(stats().used_bytes, 0u);
  EXPECT_GE(stats().used_peak, 32_MiB);
  EXPECT_LT(stats().used_peak, 33_MiB);
}

TEST_F(PurposeTest, SleepsWithoutTheBlocksThatHaveNoPages) {
  options.chunk_bytes = 4_MiB;
  create();
  auto* host = static_cast<char*>(take_for(PLAT_POOL_HOST, 1_MiB));
  EXPECT_EQ(plat_pool_free(pool, take_for(PLAT_POOL_CACHED, 1_MiB)), PLAT_POOL_OK);
  take(5_MiB);
  ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 1), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(device().held_bytes, 0u) << "idle cached memory goes too";
  std::memset(host, 3, 1_MiB);
  EXPECT_EQ(stats().host_bytes, 4_MiB);
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK);
}

TEST_F(PurposeTest, ForgetsEveryPurposeOnReset) {
  options.chunk_bytes = 4_MiB;
  create();
  for (const auto purpose : {PLAT_POOL_COMPUTE, PLAT_POOL_MEDIA, PLAT_POOL_HOST, PLAT_POOL_CACHED})
    for (const uint64_t bytes : {uint64_t{100}, 100_KiB}) take_for(purpose, bytes);
  ASSERT_EQ(plat_pool_reset(pool), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(stats().live_blocks, 0u);
  EXPECT_EQ(stats().used_bytes, 0u);
  plat_pool_trim(pool, 0);
  EXPECT_EQ(stats().reserved_bytes, 0u);
}

TEST_F(PurposeTest, WorksUnderEveryDecorator) {
  options.chunk_bytes = 4_MiB;
  create();
  plat_pool* stack[5] = {};
  const std::string path = ::testing::TempDir() + "purposes_trace.csv";
  ASSERT_EQ(plat_pool_with_limit(pool, 3_MiB, &stack[0]), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_statistics(stack[0], &stack[1]), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_trace(stack[1], path.c_str(), &stack[2]), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_guards(stack[2], 512, &stack[3]), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_faults(stack[3], 5, 0, &stack[4]), PLAT_POOL_OK);
  plat_pool* outer = stack[4];
  for (const auto purpose : {PLAT_POOL_HOST, PLAT_POOL_CACHED}) {
    void* block = nullptr;
    ASSERT_EQ(plat_pool_alloc_for(outer, 1000, purpose, &block), PLAT_POOL_OK) << plat_pool_last_error();
    EXPECT_EQ(plat_pool_free(outer, block), PLAT_POOL_OK) << plat_pool_last_error();
    ASSERT_EQ(plat_pool_alloc_for(outer, 1000, purpose, &block), PLAT_POOL_OK);
    static_cast<char*>(block)[1100] = 1;
    EXPECT_EQ(plat_pool_free(outer, block), PLAT_POOL_CORRUPT);
  }
  void* block = nullptr;
  EXPECT_EQ(plat_pool_alloc_for(outer, 1000, PLAT_POOL_HOST, &block), PLAT_POOL_QUOTA) << "the fault";
  EXPECT_EQ(plat_pool_alloc_for(outer, 4_MiB, PLAT_POOL_HOST, &block), PLAT_POOL_QUOTA) << "the limit";
  plat_pool_stats seen;
  ASSERT_EQ(plat_pool_get_stats(outer, &seen), PLAT_POOL_OK);
  EXPECT_EQ(seen.live_blocks, 0u);
  EXPECT_GT(seen.used_peak, 0u);
  for (int i = 4; i >= 0; --i) plat_pool_destroy(stack[i]);
  std::remove(path.c_str());
}

TEST_F(PurposeTest, RefusesWhatItCannotServe) {
  create();
  void* address = nullptr;
  EXPECT_EQ(plat_pool_alloc_for(pool, 100, static_cast<plat_pool_purpose>(9), &address), PLAT_POOL_INVALID);
  plat_pool_request request{};
  request.struct_size = 3;
  EXPECT_EQ(plat_pool_alloc_request(pool, &request, &address), PLAT_POOL_INVALID);
  plat_pool_destroy(std::exchange(pool, nullptr));
  options.source = PLAT_POOL_SOURCE_HOST;
  create();
  EXPECT_EQ(plat_pool_alloc_for(pool, 100, PLAT_POOL_CACHED, &address), PLAT_POOL_UNSUPPORTED);
  EXPECT_EQ(plat_pool_alloc_for(pool, 100, PLAT_POOL_HOST, &address), PLAT_POOL_OK) << "it is that";
}

TEST_F(PurposeTest, KeepsAnyAlignmentWhereverChunksStart) {
  options.chunk_bytes = 4_MiB;
  create();
  for (const auto purpose : {PLAT_POOL_HOST, PLAT_POOL_CACHED})
    for (uint64_t alignment = 64; alignment <= 2_MiB; alignment *= 2)
      for (const uint64_t bytes : {uint64_t{40}, 40_KiB}) {
        plat_pool_request request{};
        request.bytes = bytes;
        request.alignment = alignment;
        request.purpose = purpose;
        void* address = nullptr;
        ASSERT_EQ(plat_pool_alloc_request(pool, &request, &address), PLAT_POOL_OK) << plat_pool_last_error();
        EXPECT_EQ(reinterpret_cast<uint64_t>(address) % alignment, 0u) << alignment;
      }
}

TEST_F(PurposeTest, TellsAnOlderCallerAsMuchAsItKnows) {
  create();
  take(3_MiB);
  plat_pool_stats short_one;
  short_one.most_remaps = 0x55;
  short_one.struct_size = offsetof(plat_pool_stats, most_remaps);
  ASSERT_EQ(plat_pool_get_stats(pool, &short_one), PLAT_POOL_OK);
  EXPECT_EQ(short_one.reserved_bytes, 4_MiB);
  EXPECT_EQ(short_one.most_remaps, 0x55u) << "beyond what the caller has";
  for (const size_t wrong : {size_t{0}, sizeof short_one + 1}) {
    short_one.struct_size = wrong;
    EXPECT_EQ(plat_pool_get_stats(pool, &short_one), PLAT_POOL_INVALID);
  }
}

}  // namespace
}  // namespace plat::test
