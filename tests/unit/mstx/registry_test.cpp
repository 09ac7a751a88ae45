// SPDX-License-Identifier: Apache-2.0
#include "mstx/registry.h"

#include <gtest/gtest.h>

#include "base/mstx_dialects.h"

namespace plat::mstx {
namespace {

const void* at(uint64_t address) { return reinterpret_cast<const void*>(address); }

Region region_at(uint64_t start, Handle heap = {}, Handle domain = {}) {
  Region region;
  region.domain = domain;
  region.heap = heap;
  region.range = {0, at(start), 64};
  return region;
}

TEST(MstxHandles, GarbageIsNoHandle) {
  const auto given = to_client<mstxMemHeapHandle_t>({5, 9});
  EXPECT_EQ(from_client(given), (Handle{5, 9}));
  EXPECT_FALSE(from_client(reinterpret_cast<mstxMemRegionHandle_t>(given)));
  EXPECT_FALSE(from_client(mstxMemHeapHandle_t()));
  EXPECT_FALSE(from_client(reinterpret_cast<mstxMemHeapHandle_t>(const_cast<mstxMemHeapHandle_t*>(&given))));
}

TEST(MstxRegistry, TheSameNameIsTheSameDomain) {
  Registry registry;
  const Handle first = registry.create_domain("pool");
  EXPECT_EQ(registry.create_domain("pool"), first);
  EXPECT_FALSE(registry.create_domain("other") == first);
  EXPECT_FALSE(registry.destroy_domain(first));
  EXPECT_TRUE(registry.destroy_domain(first));
  EXPECT_FALSE(registry.destroy_domain(first));
  EXPECT_FALSE(registry.create_domain("pool") == first);
}

TEST(MstxRegistry, ADomainIsKnownToEachToolByItsOwnName) {
  Registry registry;
  Tool a, b, heir;
  a.id = 1;
  b.id = 2;
  b.slot = 1;
  heir.id = 3;  // in the slot of a
  int name_a = 0, name_b = 0;
  const Handle domain = registry.create_domain("pool");
  EXPECT_EQ(registry.name_of(domain, a), std::nullopt);
  registry.domains.at(domain.index).names.set(a, &name_a);
  registry.domains.at(domain.index).names.set(b, &name_b);
  EXPECT_EQ(registry.name_of(domain, a), &name_a);
  EXPECT_EQ(registry.name_of(domain, b), &name_b);
  EXPECT_EQ(registry.name_of(domain, heir), std::nullopt);
  registry.destroy_domain(domain);
  EXPECT_EQ(registry.name_of(domain, a), &name_a);  // for a while
  Handle next;
  while (next.index != domain.index || next == Handle{}) {
    next = registry.create_domain("next");
    registry.destroy_domain(next);
  }
  EXPECT_EQ(registry.name_of(domain, a), std::nullopt);
  EXPECT_EQ(registry.name_of(next, a), std::nullopt);
}

TEST(MstxRegistry, ALimitedNumberOfDomainsLives) {
  Registry registry;
  const uint32_t limit = decltype(registry.domains)::kCapacity;
  for (uint32_t i = 0; i < limit; ++i) ASSERT_TRUE(registry.create_domain(std::to_string(i)));
  EXPECT_FALSE(registry.create_domain("one more"));
  EXPECT_TRUE(registry.create_domain("7"));
  const Handle eight = registry.create_domain("8");
  EXPECT_FALSE(registry.destroy_domain(eight));  // it was created twice
  EXPECT_TRUE(registry.destroy_domain(eight));
  EXPECT_TRUE(registry.create_domain("one more"));
}

TEST(MstxRegistry, ADomainTakesItsHeapsAndRegionsAlong) {
  Registry registry;
  const Handle domain = registry.create_domain("pool");
  const Handle heap = registry.add_heap(Heap{domain, mstxMemVirtualRangeDesc_t{}});
  registry.add_region(region_at(0x1000, heap, domain));
  registry.add_region(region_at(0x2000, {}, domain));
  const Handle other = registry.add_region(region_at(0x3000));
  EXPECT_TRUE(registry.destroy_domain(domain));
  EXPECT_EQ(registry.heaps.size(), 0u);
  EXPECT_EQ(registry.regions.size(), 1u);
  EXPECT_NE(registry.regions.live(other), nullptr);
}

TEST(MstxRegistry, AHeapTakesItsRegionsAlong) {
  Registry registry;
  const Handle heap = registry.add_heap(Heap{});
  const Handle other = registry.add_heap(Heap{});
  const Handle a = registry.add_region(region_at(0x1000, heap));
  const Handle b = registry.add_region(region_at(0x2000, heap));
  const Handle c = registry.add_region(region_at(0x3000, other));
  EXPECT_EQ(registry.regions_of(heap), (std::vector<Handle>{b, a}));
  registry.drop_region(a);
  EXPECT_EQ(registry.regions_of(heap), (std::vector<Handle>{b}));
  registry.drop_heap(heap);
  EXPECT_EQ(registry.regions.live(b), nullptr);
  EXPECT_NE(registry.regions.live(c), nullptr);
  EXPECT_FALSE(registry.region_at({}, at(0x2000)));
}

TEST(MstxRegistry, ARegionOfADeadHeapIsOfNoHeap) {
  Registry registry;
  const Handle heap = registry.add_heap(Heap{});
  registry.drop_heap(heap);
  const Handle region = registry.add_region(region_at(0x1000, heap));
  EXPECT_FALSE(registry.regions.live(region)->heap);
}

TEST(MstxRegistry, APointerMeansTheNewestRegionThatStartsThere) {
  Registry registry;
  const Handle first = registry.add_region(region_at(0x1000));
  const Handle second = registry.add_region(region_at(0x1000));
  const Handle third = registry.add_region(region_at(0x1000));
  EXPECT_EQ(registry.region_at({}, at(0x1000)), third);
  registry.drop_region(second);  // from the middle
  registry.drop_region(third);
  EXPECT_EQ(registry.region_at({}, at(0x1000)), first);
  registry.drop_region(first);
  EXPECT_FALSE(registry.region_at({}, at(0x1000)));
}

TEST(MstxRegistry, DomainsKeepTheirPointersApart) {
  Registry registry;
  const Handle domain = registry.create_domain("pool");
  const Handle ours = registry.add_region(region_at(0x1000, {}, domain));
  const Handle theirs = registry.add_region(region_at(0x1000));
  EXPECT_EQ(registry.region_at(domain, at(0x1000)), ours);
  EXPECT_EQ(registry.region_at({}, at(0x1000)), theirs);
}

TEST(MstxRegistry, HeapNewsOfADeviceReplaceEachOther) {
  Registry registry;
  const Handle domain = registry.create_domain("ptaCaching");
  const Handle first = registry.news_heap(domain, {0, at(0x1000), 10});
  EXPECT_EQ(registry.news_heap(domain, {0, at(0x2000), 20}), first);
  EXPECT_EQ(registry.heaps.live(first)->range->size, 20u);
  EXPECT_FALSE(registry.news_heap(domain, {1, at(0x2000), 5}) == first);
  EXPECT_EQ(registry.heaps.size(), 2u);
}

TEST(MstxDialects, AreKnownByTheirDomain) {
  EXPECT_TRUE(speaks_dialect("ptaCaching"));
  EXPECT_TRUE(speaks_dialect("ptaWorkspace"));
  EXPECT_TRUE(speaks_dialect("mindsporeMemPool"));
  EXPECT_FALSE(speaks_dialect("atb"));
  EXPECT_FALSE(speaks_dialect(""));
}

}  // namespace
}  // namespace plat::mstx
