// SPDX-License-Identifier: Apache-2.0
// The rules of stream-ordered pools.
#include "rules/pool_fixture.h"

namespace plat::rule_test {
namespace {

// Both devices are open, device 0 is the current one.
using Device = Memory;

RULE_BROKEN(PoolHandle) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolDestroy(p.pool));
  EXPECT_BREAKS(aclrtMemPoolDestroy(p.pool));
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMemPoolMallocAsync(&block, 64, p.pool, p.stream));
}
RULE_KEPT(PoolHandle) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(64), p.stream));
  EXPECT_OK(aclrtMemPoolDestroy(p.pool));
}

RULE_BROKEN(PoolAttributeArguments) {
  PoolFixture p;
  uint64_t value = 0;
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, nullptr));
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &value));
  EXPECT_BREAKS(aclrtMemPoolGetAttr(&value, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &value));
}
RULE_KEPT(PoolAttributeArguments) {
  PoolFixture p;
  uint32_t on = 1;
  EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &on));
  on = 0;
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &on));
  EXPECT_EQ(on, 1u);
}

RULE_BROKEN(PoolAttribute) {
  PoolFixture p;
  uint64_t value = 16_MiB;
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value));
  EXPECT_BREAKS(aclrtMemPoolGetAttr(p.pool, static_cast<aclrtMemPoolAttr>(99), &value));
}
RULE_KEPT(PoolAttribute) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(3_MiB), p.stream));
  uint64_t value = 0;
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value));
  EXPECT_EQ(value, 4_MiB);
  value = 0;
  EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value));
}

// A peak that is reset starts from what is there, which it is never below.
TEST(PoolPeak, IsNeverBelowWhatIsThere) {
  run({}, [] {
    PoolFixture p;
    void* kept = p.malloc(2_MiB);
    EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(4_MiB), p.stream));
    const auto get = [&](aclrtMemPoolAttr attribute) {
      uint64_t value = 0;
      EXPECT_OK(aclrtMemPoolGetAttr(p.pool, attribute, &value));
      return value;
    };
    uint64_t zero = 0;
    EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &zero));
    EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &zero));
    EXPECT_EQ(get(ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 2_MiB);
    EXPECT_EQ(get(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 6_MiB);
    EXPECT_OK(aclrtMemPoolFreeAsync(kept, p.stream));
  });
}

RULE_BROKEN(PoolSize) {
  Device d;
  const aclrtMemPoolProps props = pool_props(65_MiB);
  aclrtMemPool pool = nullptr;
  EXPECT_BREAKS(aclrtMemPoolCreate(&pool, &props));
}
RULE_KEPT(PoolSize) {
  Device d;
  const aclrtMemPoolProps props = pool_props(64_MiB);
  aclrtMemPool pool = nullptr;
  EXPECT_OK(aclrtMemPoolCreate(&pool, &props));
}

RULE_BROKEN(PoolLocation) {
  Device d;
  aclrtMemPoolProps props = pool_props();
  props.reserved[31] = 1;
  aclrtMemPool pool = nullptr;
  EXPECT_BREAKS(aclrtMemPoolCreate(&pool, &props));
}
RULE_KEPT(PoolLocation) {
  Device d;
  const aclrtMemPoolProps props = pool_props();
  aclrtMemPool pool = nullptr;
  EXPECT_OK(aclrtMemPoolCreate(&pool, &props));
}

RULE_BROKEN(PoolExhausted) {
  PoolFixture p(4_MiB);
  p.malloc(3_MiB);
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMemPoolMallocAsync(&block, 1, p.pool, p.stream));
}
RULE_KEPT(PoolExhausted) {
  PoolFixture p(4_MiB);
  void* block = p.malloc(3_MiB);
  EXPECT_OK(aclrtMemPoolFreeAsync(block, p.stream));
  EXPECT_EQ(p.malloc(4_MiB), block);
}

RULE_BROKEN(PoolTrim) {
  PoolFixture p;
  p.malloc(4_MiB);
  EXPECT_BREAKS(aclrtMemPoolTrimTo(p.pool, 2_MiB));
  EXPECT_BREAKS(aclrtMemPoolTrimTo(p.pool, 10_MiB));
}
RULE_KEPT(PoolTrim) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(4_MiB), p.stream));
  uint64_t threshold = 8_MiB;
  EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
  EXPECT_OK(aclrtSynchronizeStream(p.stream));
  uint64_t held = 0;
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &held));
  EXPECT_EQ(held, 4_MiB);
  EXPECT_OK(aclrtMemPoolTrimTo(p.pool, 0));
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &held));
  EXPECT_EQ(held, 0u);
}

RULE_BROKEN(PoolFree) {
  PoolFixture p;
  void* block = p.malloc(2_MiB);
  EXPECT_OK(aclrtMemPoolFreeAsync(block, p.stream));
  EXPECT_BREAKS(aclrtMemPoolFreeAsync(block, p.stream));
}
RULE_KEPT(PoolFree) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(2_MiB), p.stream));
  EXPECT_OK(aclrtMemPoolFreeAsync(malloc_device(), p.stream));
  EXPECT_OK(aclrtFree(p.malloc(2_MiB)));
  EXPECT_OK(aclrtSynchronizeStream(p.stream));
}

}  // namespace
}  // namespace plat::rule_test
