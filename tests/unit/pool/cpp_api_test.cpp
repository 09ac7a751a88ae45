// SPDX-License-Identifier: Apache-2.0
// plat/pool.hpp: owners give back, buffers know their type, containers live in pinned memory.
#include <plat/pool.hpp>

#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "pool_fixture.h"

namespace plat::test {
namespace {

class CppPoolTest : public PoolTest {
 protected:
  void SetUp() override {
    PoolTest::SetUp();
    options.chunk_bytes = 4_MiB;
  }
  static uint64_t live(const DevicePool& owner) { return owner.stats().live_blocks; }
};

TEST_F(CppPoolTest, GivesBlocksBackWhenTheirOwnerEnds) {
  DevicePool owner(options);
  {
    Block block = owner.block(1_MiB);
    Block on_stream = owner.block(1000, stream(1));
    Block pinned = owner.block(1000, PLAT_POOL_HOST);
    static_cast<char*>(pinned.get())[999] = 1;
    EXPECT_EQ(live(owner), 3u);
    Block taken = std::move(block);
    EXPECT_EQ(block, nullptr);
  }
  EXPECT_EQ(live(owner), 0u);
  void* plain = owner.allocate(100);
  owner.free(plain);
  EXPECT_THROW(owner.free(plain), PoolError);
}

TEST_F(CppPoolTest, ThrowsTheSentenceThatExplains) {
  DevicePool owner(options);
  try {
    owner.allocate(100_MiB);
    FAIL();
  } catch (const PoolError& error) {
    EXPECT_EQ(error.status(), PLAT_POOL_NO_MEMORY);
    EXPECT_NE(std::string(error.what()).find("100 MiB"), std::string::npos) << error.what();
  }
  options.release = static_cast<plat_pool_release>(17);
  EXPECT_THROW(DevicePool{options}, PoolError);
}

TEST_F(CppPoolTest, MovesPoolsAndTakesOverDecorators) {
  DevicePool first(options);
  DevicePool second(std::move(first));
  EXPECT_EQ(first.get(), nullptr);
  plat_pool* limited = nullptr;
  ASSERT_EQ(plat_pool_with_limit(second.get(), 1_MiB, &limited), PLAT_POOL_OK);
  DevicePool outer(limited);
  EXPECT_THROW(outer.allocate(2_MiB), PoolError);
}

TEST_F(CppPoolTest, CountsTheValuesOfABuffer) {
  DevicePool owner(options);
  {
    const Buffer<float> tensor(owner, 1000);
    EXPECT_EQ(tensor.size(), 1000u);
    EXPECT_EQ(tensor.size_bytes(), 4000u);
    EXPECT_TRUE(tensor);
    const Buffer<int> staging(owner, 10, PLAT_POOL_HOST);
    staging.data()[9] = 7;
    EXPECT_EQ(staging.data()[9], 7);
  }
  EXPECT_EQ(live(owner), 0u);
  EXPECT_FALSE(Buffer<int>());
  {
    Buffer<int> from(owner, 10);
    Buffer<int> to(std::move(from));
    EXPECT_EQ(to.size(), 10u);
    EXPECT_EQ(from.size(), 0u) << "it has nothing any more";
    from = std::move(to);
    EXPECT_EQ(from.size_bytes(), 40u);
    EXPECT_EQ(to.size(), 0u);
    EXPECT_FALSE(to);
  }
  EXPECT_THROW(Buffer<double>(owner, SIZE_MAX / 4), std::bad_array_new_length);
}

TEST_F(CppPoolTest, LetsContainersLiveInPinnedMemory) {
  DevicePool owner(options);
  PoolResource resource(owner.get());
  {
    std::pmr::vector<int> numbers(&resource);
    for (int i = 0; i < 10000; ++i) numbers.push_back(i);
    EXPECT_EQ(numbers[9999], 9999);
    std::pmr::string text("a string that is too long for its own small room", &resource);
    EXPECT_GE(live(owner), 2u);
    EXPECT_GT(owner.stats().host_bytes, 0u);
    struct alignas(4096) Wide {
      char byte;
    };
    std::pmr::vector<Wide> wide(3, &resource);
    EXPECT_EQ(reinterpret_cast<uint64_t>(wide.data()) % 4096, 0u);
  }
  EXPECT_EQ(live(owner), 0u);
  EXPECT_TRUE(resource.is_equal(PoolResource(owner.get())));
  DevicePool other(options);
  EXPECT_FALSE(resource.is_equal(PoolResource(other.get())));
  options.host_limit_bytes = 4_MiB;
  DevicePool small(options);
  PoolResource scarce(small.get());
  EXPECT_THROW(std::ignore = scarce.allocate(8_MiB), std::bad_alloc);
}

TEST_F(CppPoolTest, HasEveryCallOfTheCApi) {
  DevicePool owner(options);
  void* aligned = owner.allocate_aligned(1000, 4096);
  EXPECT_EQ(reinterpret_cast<uint64_t>(aligned) % 4096, 0u);
  EXPECT_GE(owner.usable(aligned), 1000u);
  void* tagged = owner.allocate_tagged(3_MiB, 7);
  owner.sleep(7);
  EXPECT_THROW(owner.allocate_tagged(3_MiB, 7), PoolError);
  owner.wake(7);
  owner.use_on(tagged, stream(1));
  owner.free(tagged, stream(2));
  owner.forget_stream(stream(1));
  void* large = owner.allocate(1_MiB);
  EXPECT_TRUE(owner.resize(large, 100_KiB));
  EXPECT_FALSE(owner.resize(large, 60_MiB));
  EXPECT_THROW(owner.resize(large, 0), PoolError);
  owner.flush_thread();
  owner.reset();
  EXPECT_EQ(live(owner), 0u);
  EXPECT_THROW(owner.free(large), PoolError);
  owner.trim();
  EXPECT_EQ(owner.stats().reserved_bytes, 0u);
}

TEST_F(CppPoolTest, OwnsBlocksWithTagsAlignmentAndInBatches) {
  DevicePool owner(options);
  {
    const Block block = owner.block(1000, BlockOptions{4096, stream(1), PLAT_POOL_COMPUTE, 7});
    EXPECT_EQ(reinterpret_cast<uint64_t>(block.get()) % 4096, 0u);
    EXPECT_EQ(owner.owner(static_cast<char*>(block.get()) + 999).tag, 7);
    BlockOptions pinned;
    pinned.purpose = PLAT_POOL_HOST;
    const Buffer<int> numbers(owner, 100, pinned);
    numbers.data()[99] = 5;
    Batch batch(owner, {100, 3_MiB, 5000}, stream(2));
    EXPECT_EQ(batch.size(), 3u);
    EXPECT_EQ(live(owner), 5u);
    Batch moved = std::move(batch);
    EXPECT_EQ(batch.size(), 0u);
    for (void* address : moved) EXPECT_EQ(owner.owner(address).address, address);
    moved = Batch(owner, {64}, nullptr);
    EXPECT_EQ(live(owner), 3u);
    EXPECT_EQ(owner.blocks().size(), 3u);
    EXPECT_THROW(Batch(owner, {64, 100_MiB}), PoolError);
    EXPECT_EQ(live(owner), 3u) << "all or none";
  }
  EXPECT_EQ(live(owner), 0u);
  EXPECT_TRUE(owner.blocks().empty());
  owner.trim();
  owner.reset_peaks();
  EXPECT_THROW(owner.snapshot("/no/such/folder/pool.pickle"), PoolError);
  EXPECT_EQ(owner.stats().reserved_peak, 0u);
  owner.set_limits(2_MiB);
  EXPECT_THROW(owner.allocate(3_MiB), PoolError);
}

TEST_F(CppPoolTest, EndsArenasAndCachesWithTheirOwner) {
  DevicePool owner(options);
  {
    Arena arena(owner, 1_MiB);
    Arena moved = std::move(arena);
    EXPECT_NE(moved.allocate(1000), nullptr);
    Arena inner(moved);
    EXPECT_NE(inner.allocate(1000, 4096), nullptr);
    KvCache cache(owner, 64_KiB, 1000);
    cache.set_tokens(60);
    KvCache taken = std::move(cache);
    EXPECT_GE(taken.backed_bytes(), 60 * 64_KiB);
    EXPECT_NE(taken.data(), nullptr);
    EXPECT_THROW(taken.set_tokens(2000), PoolError);
  }
  EXPECT_EQ(live(owner), 0u);
  owner.trim();
  EXPECT_EQ(owner.stats().reserved_bytes, 0u);
}

}  // namespace
}  // namespace plat::test
