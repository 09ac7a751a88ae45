// SPDX-License-Identifier: Apache-2.0
// The clients as they are: pools that report through the memory calls and leave fields unset.

#include <cstring>

#include "unit/mstx/fixture.h"

namespace plat::mstx::test {
namespace {

class MstxDialectTest : public MstxTest {
 protected:
  // What a caching allocator sends for each block it hands out or takes back. The fields that it does not set
  // hold what was on the stack: here, values that would do harm.
  static void report(const char* domain_name, uint64_t block, uint64_t size, uint64_t total, bool allocated) {
    const auto domain = mstxDomainCreateA(domain_name);
    const mstxMemVirtualRangeDesc_t pool{0, at(block), total};
    mstxMemHeapDesc_t heap;
    std::memset(&heap, 0x5a, sizeof(heap));
    heap.typeSpecificDesc = &pool;
    mstxMemHeapRegister(domain, &heap);
    if (allocated) {
      const mstxMemVirtualRangeDesc_t range{0, at(block), size};
      mstxMemRegionsRegisterBatch_t batch;
      std::memset(&batch, 0x5a, sizeof(batch));
      batch.regionCount = 1;
      batch.regionDescArray = &range;
      mstxMemRegionsRegister(domain, &batch);
    } else {
      drop_region(domain, by_pointer(block));
    }
  }
};

TEST_F(MstxDialectTest, UnsetFieldsAreNeitherReadNorPassedOn) {
  ToolA::habits.extensions = true;
  attach<ToolA>();
  for (const char* domain : {"ptaCaching", "ptaWorkspace", "mindsporeMemPool"}) {
    report(domain, 0x10000, 64, 64, true);
    report(domain, 0x20000, 64, 128, true);
    ASSERT_EQ(ToolA::books.regions.size(), 2u);
    for (const auto& [handle, region] : ToolA::books.regions) EXPECT_EQ(region.heap, nullptr);
    report(domain, 0x10000, 64, 64, false);
    report(domain, 0x20000, 64, 0, false);
    EXPECT_TRUE(ToolA::books.regions.empty());
  }
  EXPECT_TRUE(ToolA::books.notices.empty());
}

TEST_F(MstxDialectTest, ADomainPerCallCostsOneDomain) {
  attach<ToolA>();
  for (int i = 0; i < 100; ++i) report("ptaCaching", 0x10000, 64, 64, i % 2 == 0);
  EXPECT_EQ(ToolA::books.domains.size(), 1u);
  EXPECT_EQ(ToolA::books.domain_creations, 1);
}

// Every report is a new heap for a tool; a newcomer gets the last one.
TEST_F(MstxDialectTest, ANewcomerHearsTheLatestTotalAndTheLiveBlocks) {
  attach<ToolA>();
  for (uint64_t i = 0; i < 10; ++i) report("ptaCaching", 0x10000 * (i + 1), 64, 64 * (i + 1), true);
  report("ptaCaching", 0x10000, 64, 576, false);
  EXPECT_EQ(ToolA::books.heaps.size(), 11u);
  attach<ToolB>();
  ASSERT_EQ(ToolB::books.heaps.size(), 1u);
  EXPECT_EQ(ToolB::books.heaps.begin()->second.size, 576u);
  EXPECT_EQ(ToolB::books.regions.size(), 9u);
  report("ptaCaching", 0x20000, 64, 512, false);
  EXPECT_EQ(ToolB::books.regions.size(), 8u);
}

// The client is known by its domain, so it gets one even if no tool cares for domains.
TEST_F(MstxDialectTest, IsHeardThroughAToolWithoutDomains) {
  ToolA::habits.null_domains = true;
  attach<ToolA>();
  platMstxRemember(0);
  EXPECT_EQ(mstxDomainCreateA("something"), nullptr);
  EXPECT_NE(mstxDomainCreateA("ptaCaching"), nullptr);
  report("ptaCaching", 0x10000, 64, 64, true);
  EXPECT_EQ(ToolA::books.regions.size(), 1u);
  EXPECT_EQ(ToolA::books.regions.begin()->second.domain, nullptr);
}

// ATB: a batch a step, all fields set, handles asked for and used.
TEST_F(MstxDialectTest, PlainClientsGetTheirHandles) {
  attach<ToolA>();
  const auto domain = mstxDomainCreateA("atb");
  const auto heap = add_heap(domain, 0x10000, 0x1000);
  const auto region = add_region(domain, heap, 0x10000, 64);
  drop_region(domain, by_handle(region));
  mstxMemHeapUnregister(domain, heap);
  EXPECT_TRUE(ToolA::books.heaps.empty());
}

// Ascend shmem: no heap, handles, and permissions that only say SHARED.
TEST_F(MstxDialectTest, RegionsOfNoHeapCanBeShared) {
  attach<ToolA>();
  const auto domain = mstxDomainCreateA("shmem");
  const auto region = add_region(domain, nullptr, 0x10000, 64);
  assign(domain, by_handle(region), MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED);
  EXPECT_EQ(ToolA::books.regions.begin()->second.permissions,
            uint32_t{MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED});
  drop_region(domain, by_handle(region));
}

}  // namespace
}  // namespace plat::mstx::test
