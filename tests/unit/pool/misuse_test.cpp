// SPDX-License-Identifier: Apache-2.0
// Frees that no program should make, and device calls that fail where it hurts most.
#include <cmath>
#include <cstring>
#include <thread>

#include "pool_fixture.h"

namespace plat::test {
namespace {

TEST_F(PoolTest, NamesTheOptionThatIsWrong) {
  struct Wrong {
    const char* says;
    void (*set)(plat_pool_options&);
  };
  const Wrong all[] = {
      {"device is -2", [](plat_pool_options& wrong) { wrong.device = -2; }},
      {"tail_bytes is -32", [](plat_pool_options& wrong) { wrong.tail_bytes = -32; }},
      {"slack is NaN", [](plat_pool_options& wrong) { wrong.slack = std::nan(""); }},
      {"struct_size", [](plat_pool_options& wrong) { wrong.struct_size = 4711; }},
      {"no such source", [](plat_pool_options& wrong) { wrong.source = static_cast<plat_pool_source>(99); }},
  };
  for (const Wrong& wrong : all) {
    plat_pool_options_init(&options);
    wrong.set(options);
    auto* made = reinterpret_cast<plat_pool*>(&options);  // what an earlier call left there
    EXPECT_EQ(plat_pool_create(&options, &made), PLAT_POOL_INVALID) << wrong.says;
    EXPECT_EQ(made, nullptr) << wrong.says;
    EXPECT_NE(std::strstr(plat_pool_last_error(), wrong.says), nullptr) << plat_pool_last_error();
  }
}

// Sums of such sizes wrap around and look small.
TEST_F(PoolTest, RefusesASizeThatNoBlockCanHave) {
  create();
  for (void* block : {take(100), take(1_MiB)}) {
    for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 31, uint64_t{1} << 63, 1_TiB + 1})
      EXPECT_EQ(plat_pool_resize(pool, block, bytes), PLAT_POOL_INVALID) << bytes;
    EXPECT_EQ(plat_pool_resize(pool, block, 1_TiB), PLAT_POOL_NO_MEMORY);
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  }
}

TEST_F(PoolTest, NoticesAWrongFreeOfASmallBlock) {
  create();
  for (const uint64_t bytes : {1u, 100u, 400u, 500u, 700u, 4000u, 30000u}) {
    auto* block = static_cast<char*>(take(bytes));
    EXPECT_EQ(plat_pool_free(pool, block + 1), PLAT_POOL_NOT_OWNED) << bytes;
    EXPECT_EQ(plat_pool_free(pool, block + 64), PLAT_POOL_NOT_OWNED) << bytes;
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK) << bytes;
    EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED) << "it lies in the cache of the thread";
    EXPECT_NE(std::strstr(plat_pool_last_error(), "freed already"), nullptr) << plat_pool_last_error();
    EXPECT_EQ(plat_pool_usable(pool, block, nullptr, nullptr), PLAT_POOL_NOT_OWNED) << bytes;
    EXPECT_EQ(plat_pool_resize(pool, block, 1), PLAT_POOL_NOT_OWNED) << bytes;
    void* one = take(bytes);
    void* two = take(bytes);
    EXPECT_NE(one, two) << bytes;
    EXPECT_EQ(plat_pool_free(pool, one), PLAT_POOL_OK);
    EXPECT_EQ(plat_pool_free(pool, two), PLAT_POOL_OK);
  }
  EXPECT_EQ(stats().live_blocks, 0u);
}

TEST_F(PoolTest, NoticesASecondFreeByAnotherThread) {
  create();
  void* block = take(100);
  std::thread([&] { EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK); }).join();
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
  void* shared = take(100);
  ASSERT_EQ(plat_pool_use_on(pool, shared, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, shared), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, shared), PLAT_POOL_NOT_OWNED) << "it waits for the other stream";
}

TEST_F(PoolTest, KeepsALargeBlockThatIsFreedTwiceWhileAStreamUsesIt) {
  device().streams_finish = false;
  create();
  void* shared = take(5_MiB);
  ASSERT_EQ(plat_pool_use_on(pool, shared, stream(1)), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, shared), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, shared), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_resize(pool, shared, 1_MiB), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_usable(pool, shared, nullptr, nullptr), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_use_on(pool, shared, stream(2)), PLAT_POOL_NOT_OWNED);
  EXPECT_NE(take(5_MiB), shared) << "the stream still uses it";
  device().finish();
  EXPECT_EQ(take(5_MiB), shared);
  EXPECT_EQ(plat_pool_free(pool, shared), PLAT_POOL_OK) << "another's by now, and freed once";
}

TEST_F(PoolTest, NoticesWrongFreesInTagsAndWithoutCaches) {
  options.thread_cache = 0;
  create();
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 100, 3, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, static_cast<char*>(block) + 64), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_NOT_OWNED);
}

// Two failures in one call: a page cannot be unmapped, and the one before it cannot be mapped back.
TEST_F(PoolTest, LosesNothingWhenAFailedSleepCannotBeUndone) {
  create();
  auto* block = static_cast<char*>(take(5_MiB));
  std::memset(block, 7, 5_MiB);
  int unmaps = 0;
  int maps = 0;
  device().watch = [&](const char* call) {
    const bool second_unmap = std::strcmp(call, "aclrtUnmapMem") == 0 && ++unmaps == 2;
    const bool first_map = std::strcmp(call, "aclrtMapMem") == 0 && ++maps == 1;
    if (second_unmap || first_map) device().fail_call = 1;
  };
  EXPECT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 0), PLAT_POOL_DEVICE);
  device().watch = nullptr;
  EXPECT_NE(std::strstr(plat_pool_last_error(), "wake it"), nullptr) << plat_pool_last_error();
  void* other = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 1_MiB, &other), PLAT_POOL_ASLEEP);
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK) << plat_pool_last_error();
  for (uint64_t at = 0; at < 5_MiB; at += 4096) ASSERT_EQ(block[at], 7) << at;
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
}

// A wake that fails half way, and whose pages cannot be unmapped again.
TEST_F(PoolTest, WakesAfterAFailedWakeThatCouldNotBeUndone) {
  create();
  auto* block = static_cast<char*>(take(5_MiB));
  std::memset(block, 7, 5_MiB);
  ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 1), PLAT_POOL_OK);
  int maps = 0;
  device().watch = [&](const char* call) {
    const bool third_map = std::strcmp(call, "aclrtMapMem") == 0 && ++maps == 3;
    if (third_map || std::strcmp(call, "aclrtUnmapMem") == 0) device().fail_call = 1;
  };
  EXPECT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_DEVICE);
  device().watch = nullptr;
  ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK) << plat_pool_last_error();
  for (uint64_t at = 0; at < 5_MiB; at += 4096) ASSERT_EQ(block[at], 7) << at;
}

TEST_F(PoolTest, AsksAFullDeviceOnlyWhenMovingDoesNotDo) {
  create();
  void* large = take(40_MiB);
  void* small = take(22_MiB);
  ASSERT_EQ(device().held_bytes, device().capacity_bytes);
  void* refused = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 30_MiB, &refused), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(plat_pool_free(pool, large), PLAT_POOL_OK);
  int asked = 0;
  device().watch = [&](const char* call) { asked += std::strcmp(call, "aclrtMallocPhysical") == 0; };
  void* pieces[4];
  for (void*& piece : pieces) piece = take(9_MiB);
  device().watch = nullptr;
  EXPECT_EQ(asked, 0);
  for (void* piece : pieces) EXPECT_EQ(plat_pool_free(pool, piece), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free(pool, small), PLAT_POOL_OK);
}

// The callback frees blocks of the class that is asked for: its thread has more of them then than it may
// keep.
TEST_F(PoolTest, LosesNoBlockThatTheCallbackFrees) {
  options.limit_bytes = 4_MiB;
  create();
  struct Held {
    std::vector<void*> small;
    void* large = nullptr;
  } held;
  for (int i = 0; i < 200; ++i) held.small.push_back(take(1000));
  held.large = take(1900_KiB);
  plat_pool_set_oom_callback(
      pool,
      [](void* user, plat_pool* asking, uint64_t, const char*) {
        auto& all = *static_cast<Held*>(user);
        for (void* block : all.small) plat_pool_free(asking, block);
        all.small.clear();
        return static_cast<int>(plat_pool_free(asking, std::exchange(all.large, nullptr)) == PLAT_POOL_OK);
      },
      &held);
  std::vector<void*> blocks;
  while (!held.small.empty()) blocks.push_back(take(1000));
  for (void* block : blocks) ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  plat_pool_flush_thread(pool);
  EXPECT_EQ(stats().live_blocks, 0u);
  EXPECT_EQ(stats().used_bytes, 0u);
}

TEST_F(PoolTest, KeepsNothingOfARequestThatFailed) {
  create();
  take(4_MiB);
  const uint64_t held = device().held_bytes;
  void* refused = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 300_MiB, &refused), PLAT_POOL_NO_MEMORY);
  EXPECT_EQ(device().held_bytes, held);
  EXPECT_EQ(stats().reserved_bytes, held);
}

TEST_F(PoolTest, WakesWithMemoryThatLiesIdle) {
  options.limit_bytes = 16_MiB;
  create();
  std::memset(take(7_MiB), 9, 7_MiB);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 5_MiB, 3, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_sleep(pool, 3, 1), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_free(pool, take(7_MiB)), PLAT_POOL_OK);  // all of the limit is held, half of it idle
  EXPECT_EQ(plat_pool_wake(pool, 3), PLAT_POOL_OK) << plat_pool_last_error();
}

TEST_F(PoolTest, WakesWithWhatOtherPoolsKeep) {
  create();
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_tagged(pool, 30_MiB, 3, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_sleep(pool, 3, 0), PLAT_POOL_OK);
  plat_pool* other = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &other), PLAT_POOL_OK);
  void* theirs = nullptr;
  ASSERT_EQ(plat_pool_alloc(other, 50_MiB, &theirs), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_wake(pool, 3), PLAT_POOL_NO_MEMORY);
  ASSERT_EQ(plat_pool_free(other, theirs), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_wake(pool, 3), PLAT_POOL_OK) << plat_pool_last_error();
  plat_kv_cache* cache = nullptr;
  ASSERT_EQ(plat_pool_alloc(other, 30_MiB, &theirs), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_free(other, theirs), PLAT_POOL_OK);
  ASSERT_EQ(plat_kv_create(pool, 1_MiB, 100, &cache), PLAT_POOL_OK);
  EXPECT_EQ(plat_kv_set_tokens(cache, 20), PLAT_POOL_OK) << plat_pool_last_error();
  EXPECT_EQ(plat_kv_destroy(cache), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_destroy(other), PLAT_POOL_OK);
}

TEST_F(PoolTest, RefusesSizesThatNoBlockHas) {
  create();
  void* small = take(300);
  void* large = take(1_MiB);
  for (void* block : {small, large})
    for (const uint64_t bytes : {uint64_t{0}, (1_TiB) + 1, uint64_t{2197952037760}, UINT64_MAX})
      EXPECT_EQ(plat_pool_resize(pool, block, bytes), PLAT_POOL_INVALID) << bytes;
}

// The pointer of an earlier failure is still good after later ones.
TEST_F(PoolTest, KeepsASentenceBeyondTheNextFailures) {
  create();
  void* block = nullptr;
  EXPECT_EQ(plat_pool_alloc(pool, 0, &block), PLAT_POOL_INVALID);
  const char* const first = plat_pool_last_error();
  const std::string text = first;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(plat_pool_free(pool, &block), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(first, text);
  EXPECT_NE(plat_pool_last_error(), text);
  const std::string long_name(5000, 'n');
  options.name = long_name.c_str();
  plat_pool* named = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &named), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_alloc(named, 0, &block), PLAT_POOL_INVALID);
  EXPECT_TRUE(std::string(plat_pool_last_error()).ends_with(" ..."));
  EXPECT_EQ(plat_pool_destroy(named), PLAT_POOL_OK);
}

TEST_F(PoolTest, RefusesADeviceThatIsNotThere) {
  options.device = 77;
  for (const auto source : {PLAT_POOL_SOURCE_DEVICE, PLAT_POOL_SOURCE_HOST, PLAT_POOL_SOURCE_MALLOC}) {
    options.source = source;
    EXPECT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_INVALID);
    EXPECT_NE(std::string(plat_pool_last_error()).find("77"), std::string::npos) << plat_pool_last_error();
  }
  EXPECT_EQ(plat_pool_torch_pool(77), nullptr);
}

TEST_F(PoolTest, SaysHowManyTokensAreTooMany) {
  create();
  plat_kv_cache* cache = nullptr;
  EXPECT_EQ(plat_kv_create(pool, 1000, 0, &cache), PLAT_POOL_INVALID);
  EXPECT_NE(std::string(plat_pool_last_error()).find("1000"), std::string::npos) << plat_pool_last_error();
  ASSERT_EQ(plat_kv_create(pool, 1000, 500, &cache), PLAT_POOL_OK);
  EXPECT_EQ(plat_kv_set_tokens(cache, 501), PLAT_POOL_INVALID);
  for (const char* number : {"501", "500", "1000"})
    EXPECT_NE(std::string(plat_pool_last_error()).find(number), std::string::npos) << plat_pool_last_error();
  EXPECT_EQ(plat_kv_destroy(cache), PLAT_POOL_OK);
}

}  // namespace
}  // namespace plat::test
