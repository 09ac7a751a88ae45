// SPDX-License-Identifier: Apache-2.0
// The pool over libascendcl.so itself, as its users run it. The host cannot touch device memory, so contents
// are written and read with aclrtMemcpy, and every step is held against a naive model.
#include <acl/acl.h>
#include <acl/acl_rt_allocator.h>
#include <gtest/gtest.h>
#include <plat/pool.h>

#include <atomic>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"
#include "support/machine.h"

namespace plat::test {
namespace {

class Device : public ::testing::Environment {
 public:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  }
  void TearDown() override { aclFinalize(); }

 private:
  Machine machine_;
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new Device);

struct Live {
  uint64_t bytes;
  unsigned char pattern;
  uint64_t own() const { return align_up(bytes, 32) + 32; }
};

class PoolOnDevice : public ::testing::TestWithParam<plat_pool_source> {
 protected:
  void SetUp() override {
    plat_pool_options_init(&options);
    options.source = GetParam();
    options.chunk_bytes = 4_MiB;
    ASSERT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_OK) << plat_pool_last_error();
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 0u) << "the device has everything back";
  }
  static bool on_host() { return GetParam() == PLAT_POOL_SOURCE_HOST; }
  bool over_pages() const { return GetParam() == PLAT_POOL_SOURCE_VMM; }

  // The first and the last byte of a block and the last of its tail: a page that went missing shows in one of
  // them.
  template <class Visit>
  static void probes(void* address, const Live& block, Visit&& visit) {
    auto* start = static_cast<unsigned char*>(address);
    for (uint64_t at : {uint64_t{0}, block.bytes / 2, block.bytes - 1, block.own() - 1}) visit(start + at);
  }
  static void fill(void* address, const Live& block) {
    probes(address, block, [&](unsigned char* at) {
      if (on_host())
        *at = block.pattern;
      else
        ASSERT_EQ(aclrtMemcpy(at, 1, &block.pattern, 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS)
            << aclGetRecentErrMsg();
    });
  }
  static void check(void* address, const Live& block) {
    probes(address, block, [&](unsigned char* at) {
      unsigned char seen = 0;
      if (on_host())
        seen = *at;
      else
        ASSERT_EQ(aclrtMemcpy(&seen, 1, at, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS)
            << aclGetRecentErrMsg();
      ASSERT_EQ(seen, block.pattern);
    });
  }
  void check_all() {
    for (auto& [address, block] : live) check(address, block);
  }

  void allocate(std::mt19937_64& random) {
    const uint64_t bytes = (uint64_t{1} << (5 + random() % 18)) + random() % 1000;
    void* address = nullptr;
    const auto status = plat_pool_alloc_on(pool, bytes, random() % 2 ? stream : nullptr, &address);
    if (status != PLAT_POOL_OK) {
      ASSERT_EQ(status, PLAT_POOL_NO_MEMORY) << plat_pool_last_error();
      return;
    }
    const Live block{bytes, static_cast<unsigned char>(random())};
    auto start = [](const void* at) { return reinterpret_cast<uint64_t>(at); };
    ASSERT_EQ(start(address) % (GetParam() == PLAT_POOL_SOURCE_MEDIA ? 128 : 64), 0u);
    const auto after = live.upper_bound(address);
    if (after != live.end()) {
      ASSERT_LE(start(address) + block.own(), start(after->first));
    }
    if (after != live.begin()) {
      ASSERT_LE(start(std::prev(after)->first) + std::prev(after)->second.own(), start(address));
    }
    fill(address, block);
    live[address] = block;
  }
  void release(std::mt19937_64& random) {
    if (live.empty()) return;
    auto block = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
    check(block->first, block->second);
    ASSERT_EQ(plat_pool_free_on(pool, block->first, random() % 2 ? stream : nullptr), PLAT_POOL_OK);
    live.erase(block);
  }
  void sleep_and_wake() {
    ASSERT_EQ(plat_pool_sleep(pool, PLAT_POOL_ALL_TAGS, 1), PLAT_POOL_OK) << plat_pool_last_error();
    ASSERT_EQ(used_bytes(), 0u);
    ASSERT_EQ(plat_pool_wake(pool, PLAT_POOL_ALL_TAGS), PLAT_POOL_OK) << plat_pool_last_error();
    check_all();
  }
  plat_pool_stats stats() {
    plat_pool_stats stats;
    plat_pool_get_stats(pool, &stats);
    return stats;
  }

  plat_pool_options options;
  plat_pool* pool = nullptr;
  aclrtStream stream = nullptr;
  std::map<void*, Live> live;
};

// The device has 64 MiB, and the blocks that live at once want more now and then: out of memory is met many
// times.
TEST_P(PoolOnDevice, AgreesWithTheModel) {
  std::mt19937_64 random(20 + static_cast<uint64_t>(GetParam()));
  for (int step = 0; step < 3000 && !HasFatalFailure(); ++step) {
    random() % 100 < 53 ? allocate(random) : release(random);
    if (over_pages()) {
      ASSERT_EQ(used_bytes(), stats().reserved_bytes) << "counted exactly";
    }
    if (over_pages() && step % 1000 == 999) sleep_and_wake();
    if (step % 500 == 250) plat_pool_trim(pool, 8_MiB);
  }
  check_all();
}

TEST_P(PoolOnDevice, ReturnsToZeroAfterEveryRoundOfASoak) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 10 && !HasFatalFailure(); ++round) {
    for (int step = 0; step < 200 && !HasFatalFailure(); ++step) allocate(random);
    while (!live.empty() && !HasFatalFailure()) release(random);
    ASSERT_EQ(plat_pool_forget_stream(pool, stream), PLAT_POOL_OK);
    plat_pool_flush_thread(pool);
    plat_pool_trim(pool, 0);
    ASSERT_EQ(stats().used_bytes, 0u);
    ASSERT_EQ(stats().live_blocks, 0u);
    ASSERT_EQ(stats().reserved_bytes, 0u);
    ASSERT_EQ(used_bytes(), 0u);
  }
}

// Guards read and write what they guard, so they meet memory of both sides.
TEST_P(PoolOnDevice, ServesHostAndCachedMemoryBesideItsOwn) {
  if (on_host()) {
    void* refused = nullptr;
    EXPECT_EQ(plat_pool_alloc_for(pool, 100, PLAT_POOL_CACHED, &refused), PLAT_POOL_UNSUPPORTED);
    return;
  }
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  for (const auto purpose : {PLAT_POOL_COMPUTE, PLAT_POOL_MEDIA, PLAT_POOL_HOST, PLAT_POOL_CACHED})
    for (const uint64_t bytes : {uint64_t{100}, 100_KiB}) {
      void* block = nullptr;
      ASSERT_EQ(plat_pool_alloc_for(guarded, bytes, purpose, &block), PLAT_POOL_OK) << plat_pool_last_error();
      aclrtPtrAttributes where{};
      ASSERT_EQ(aclrtPointerGetAttributes(block, &where), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(where.location.type == ACL_MEM_LOCATION_TYPE_HOST, purpose == PLAT_POOL_HOST);
      const bool host = purpose == PLAT_POOL_HOST;
      std::string bytes_in(bytes + 1, 'x');
      const auto kind = host ? ACL_MEMCPY_HOST_TO_HOST : ACL_MEMCPY_HOST_TO_DEVICE;
      ASSERT_EQ(aclrtMemcpy(block, bytes, bytes_in.data(), bytes, kind), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(plat_pool_free_on(guarded, block, stream), PLAT_POOL_OK) << plat_pool_last_error();
      ASSERT_EQ(plat_pool_alloc_for(guarded, bytes, purpose, &block), PLAT_POOL_OK);
      auto* after = static_cast<char*>(block) + align_up(bytes, 32) + 40;
      ASSERT_EQ(aclrtMemcpy(after, 1, bytes_in.data(), 1, kind), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(plat_pool_free(guarded, block), PLAT_POOL_CORRUPT) << purpose;
    }
  EXPECT_EQ(plat_pool_destroy(guarded), PLAT_POOL_OK);
  EXPECT_EQ(stats().live_blocks, 0u);
}

std::string name_of(const ::testing::TestParamInfo<plat_pool_source>& source) {
  const char* const names[] = {"Vmm", "Malloc", "Host", "Media", "Caller", "Cached"};
  return names[source.param];
}
INSTANTIATE_TEST_SUITE_P(Sources, PoolOnDevice,
                         ::testing::Values(PLAT_POOL_SOURCE_VMM, PLAT_POOL_SOURCE_MALLOC,
                                           PLAT_POOL_SOURCE_HOST, PLAT_POOL_SOURCE_MEDIA,
                                           PLAT_POOL_SOURCE_CACHED),
                         name_of);

// The pool's device counts, not the one that the calling thread has at the moment.
TEST(PoolOfAnotherDevice, TakesItsMemoryAndAsksItsStreams) {
  for (const auto source :
       {PLAT_POOL_SOURCE_VMM, PLAT_POOL_SOURCE_MALLOC, PLAT_POOL_SOURCE_MEDIA, PLAT_POOL_SOURCE_CACHED}) {
    SCOPED_TRACE(source);
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    plat_pool_options options;
    plat_pool_options_init(&options);
    options.source = source;
    options.device = 1;
    options.limit_bytes = 16_MiB;
    plat_pool* pool = nullptr;
    ASSERT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_OK) << plat_pool_last_error();
    for (const auto purpose : {PLAT_POOL_COMPUTE, PLAT_POOL_CACHED}) {
      void* block = nullptr;
      ASSERT_EQ(plat_pool_alloc_for(pool, 1_MiB, purpose, &block), PLAT_POOL_OK) << plat_pool_last_error();
      aclrtPtrAttributes attributes{};
      ASSERT_EQ(aclrtPointerGetAttributes(block, &attributes), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(attributes.location.id, 1u);
      ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    }
    // What was freed on its stream is used elsewhere once that is idle.
    void* block = nullptr;
    ASSERT_EQ(plat_pool_alloc_on(pool, 9_MiB, stream, &block), PLAT_POOL_OK) << plat_pool_last_error();
    ASSERT_EQ(plat_pool_free_on(pool, block, stream), PLAT_POOL_OK);
    ASSERT_EQ(plat_pool_alloc(pool, 9_MiB, &block), PLAT_POOL_OK) << plat_pool_last_error();
    EXPECT_EQ(plat_pool_forget_stream(pool, stream), PLAT_POOL_OK) << plat_pool_last_error();
    EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK);
    int32_t current = -1;
    EXPECT_EQ(aclrtGetDevice(&current), ACL_SUCCESS);
    EXPECT_EQ(current, 0) << "the thread has the device that it had";
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  }
}

// The default stream has no handle: freed on it, a block is not idle.
TEST(PoolOnTheDefaultStream, KeepsABlockUntilItsWorkIsDone) {
  plat_pool_options options;
  plat_pool_options_init(&options);
  plat_pool* pool = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_OK);
  void* block = nullptr;
  void* next = nullptr;
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  ASSERT_EQ(plat_pool_alloc_on(pool, 4_MiB, PLAT_POOL_DEFAULT_STREAM, &block), PLAT_POOL_OK);
  static std::atomic<bool> open;
  open = false;
  ASSERT_EQ(aclrtLaunchHostFunc(
                nullptr,
                [](void*) {
                  while (!open) std::this_thread::yield();
                },
                nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(plat_pool_free_on(pool, block, PLAT_POOL_DEFAULT_STREAM), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_alloc_on(pool, 4_MiB, other, &next), PLAT_POOL_OK);
  EXPECT_NE(next, block);
  open = true;
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  plat_pool_stats stats{};
  stats.struct_size = sizeof stats;
  plat_pool_get_stats(pool, &stats);
  EXPECT_LE(stats.reserved_bytes, 6_MiB) << "what the default stream had is back";
  EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK);
  EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
}

// Guards look at a block that is freed on the default stream, which has no handle to wait for.
TEST(PoolOnTheDefaultStream, IsWaitedForByGuards) {
  plat_pool_options options;
  plat_pool_options_init(&options);
  plat_pool* pool = nullptr;
  plat_pool* guarded = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_with_guards(pool, 512, &guarded), PLAT_POOL_OK);
  void* block = nullptr;
  ASSERT_EQ(plat_pool_alloc_on(guarded, 1000, PLAT_POOL_DEFAULT_STREAM, &block), PLAT_POOL_OK);
  ASSERT_EQ(aclrtMemset(static_cast<char*>(block) + 1100, 4, 0, 4), ACL_SUCCESS) << aclGetRecentErrMsg();
  EXPECT_EQ(plat_pool_free_on(guarded, block, PLAT_POOL_DEFAULT_STREAM), PLAT_POOL_CORRUPT);
  EXPECT_EQ(plat_pool_destroy(guarded), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK);
}

// Its memory is trimmed, but the pool stays: so it is for the whole life of the process.
TEST(PoolDoors, GivesThePoolBehindTheTorchPair) {
  void* tensor = plat_pool_torch_malloc(3_MiB, 0, nullptr);
  ASSERT_NE(tensor, nullptr) << plat_pool_last_error();
  plat_pool* const pool = plat_pool_torch_pool(0);
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(plat_pool_torch_pool(0), pool);
  plat_pool_stats stats;
  ASSERT_EQ(plat_pool_get_stats(pool, &stats), PLAT_POOL_OK);
  EXPECT_EQ(stats.live_blocks, 1u);
  plat_pool_torch_free(tensor, 3_MiB, 0, nullptr);
  EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_get_stats(pool, &stats), PLAT_POOL_OK);
  EXPECT_EQ(stats.reserved_bytes, 0u);
  EXPECT_EQ(plat_pool_torch_pool(-2), nullptr);
  EXPECT_NE(std::string(plat_pool_last_error()).find("device is -2"), std::string::npos)
      << plat_pool_last_error();
}

// The runtime asks the door of a stream, as it would for the memory of an operator.
TEST(PoolDoors, ServesTheStreamThatItIsRegisteredOn) {
  plat_pool_options options;
  plat_pool_options_init(&options);
  plat_pool* pool = nullptr;
  aclrtStream stream = nullptr;
  ASSERT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_OK);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(plat_pool_register_on_stream(pool, stream), PLAT_POOL_OK) << plat_pool_last_error();
  aclrtAllocatorDesc description = nullptr;
  aclrtAllocator allocator = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc release = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address_of = nullptr;
  ASSERT_EQ(
      aclrtAllocatorGetByStream(stream, &description, &allocator, &allocate, &release, &advise, &address_of),
      ACL_SUCCESS);
  void* block = allocate(allocator, 5000);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(aclrtMemsetAsync(address_of(block), 5000, 1, 5000, stream), ACL_SUCCESS) << aclGetRecentErrMsg();
  uint64_t usable = 0;
  EXPECT_EQ(plat_pool_usable(pool, address_of(block), &usable, nullptr), PLAT_POOL_OK);
  EXPECT_GE(usable, 5000u);
  release(allocator, block);
  EXPECT_EQ(plat_pool_usable(pool, address_of(block), &usable, nullptr), PLAT_POOL_NOT_OWNED);
  EXPECT_EQ(plat_pool_unregister_from_stream(stream), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_forget_stream(pool, stream), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

// Handles of streams are asked for by public calls alone.
class PoolAndStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    plat_pool_options_init(&options);
    options.device = 0;
    ASSERT_EQ(plat_pool_create(&options, &pool), PLAT_POOL_OK) << plat_pool_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(plat_pool_destroy(pool), PLAT_POOL_OK);
    EXPECT_EQ(used_bytes(), 0u);
  }
  void expect_all_back() {
    EXPECT_EQ(plat_pool_trim(pool, 0), PLAT_POOL_OK) << plat_pool_last_error();
    plat_pool_stats stats;
    ASSERT_EQ(plat_pool_get_stats(pool, &stats), PLAT_POOL_OK);
    EXPECT_EQ(stats.reserved_bytes, 0u);
  }
  plat_pool_options options;
  plat_pool* pool = nullptr;
};

TEST_F(PoolAndStreams, GetBackWhatWasFreedOnAStreamThatIsGone) {
  for (const bool before : {true, false})
    for (const uint64_t bytes : {uint64_t{100}, 3_MiB}) {
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      void* block = nullptr;
      ASSERT_EQ(plat_pool_alloc_on(pool, bytes, stream, &block), PLAT_POOL_OK) << plat_pool_last_error();
      auto free_it = [&] {
        EXPECT_EQ(plat_pool_free_on(pool, block, stream), PLAT_POOL_OK) << plat_pool_last_error();
      };
      if (before) free_it();
      ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
      if (!before) free_it();
      expect_all_back();
    }
}

TEST_F(PoolAndStreams, RefuseAStreamThatNeverWas) {
  auto* const never = reinterpret_cast<plat_stream>(uintptr_t{0xdead0});
  void* block = nullptr;
  EXPECT_EQ(plat_pool_alloc_on(pool, 100, never, &block), PLAT_POOL_INVALID);
  ASSERT_EQ(plat_pool_alloc(pool, 3_MiB, &block), PLAT_POOL_OK);
  EXPECT_EQ(plat_pool_free_on(pool, block, never), PLAT_POOL_INVALID) << plat_pool_last_error();
  EXPECT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
  expect_all_back();
}

// A stream answers in its own context only, and the thread that asks may have another, or none.
TEST_F(PoolAndStreams, AskEachInItsOwnContext) {
  aclrtContext before = nullptr;
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  void* block = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(plat_pool_alloc_on(pool, 3_MiB, stream, &block), PLAT_POOL_OK) << plat_pool_last_error();
  ASSERT_EQ(plat_pool_free_on(pool, block, stream), PLAT_POOL_OK);
  ASSERT_EQ(aclrtSetCurrentContext(before), ACL_SUCCESS);
  expect_all_back();
  aclrtContext after = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&after), ACL_SUCCESS);
  EXPECT_EQ(after, before);
  ASSERT_EQ(plat_pool_alloc(pool, 3_MiB, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_free_on(pool, block, stream), PLAT_POOL_OK) << plat_pool_last_error();
  std::thread([&] { expect_all_back(); }).join();
  ASSERT_EQ(plat_pool_alloc(pool, 3_MiB, &block), PLAT_POOL_OK);
  ASSERT_EQ(plat_pool_free_on(pool, block, stream), PLAT_POOL_OK) << plat_pool_last_error();
  ASSERT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);  // and the stream with it
  ASSERT_EQ(aclrtSetCurrentContext(before), ACL_SUCCESS);
  expect_all_back();
}

// Memory of pages needs no context: a thread that has none makes no call that fails.
TEST_F(PoolAndStreams, LeaveAThreadWithoutContextAlone) {
  std::thread([&] {
    void* block = nullptr;
    for (const uint64_t bytes : {uint64_t{100}, 3_MiB}) {
      ASSERT_EQ(plat_pool_alloc(pool, bytes, &block), PLAT_POOL_OK) << plat_pool_last_error();
      ASSERT_EQ(plat_pool_free(pool, block), PLAT_POOL_OK);
    }
    expect_all_back();
    const char* const said = aclGetRecentErrMsg();
    EXPECT_TRUE(said == nullptr || *said == '\0') << said;
  }).join();
}

}  // namespace
}  // namespace plat::test
