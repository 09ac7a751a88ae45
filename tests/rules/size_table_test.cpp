// SPDX-License-Identifier: Apache-2.0
// What a block costs, to the page: the size that each call rounds to, by product, and the pages it comes in.
#include <gtest/gtest.h>

#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

enum class By { Malloc, Align32, Cached, WithConfig, TaskScheduler, Media, MediaMpi };

aclError allocate(By by, void** block, size_t size, int policy) {
  const auto how = static_cast<aclrtMemMallocPolicy>(policy);
  switch (by) {
    case By::Malloc:
      return aclrtMalloc(block, size, how);
    case By::Align32:
      return aclrtMallocAlign32(block, size, how);
    case By::Cached:
      return aclrtMallocCached(block, size, how);
    case By::WithConfig:
      return aclrtMallocWithCfg(block, size, how, nullptr);
    case By::TaskScheduler:
      return aclrtMallocForTaskScheduler(block, size, how, nullptr);
    case By::Media:
      return acldvppMalloc(block, size);
    case By::MediaMpi:
      return hi_mpi_dvpp_malloc(0, block, size);
  }
  return -1;
}

void release(By by, void* block) {
  if (by == By::Media)
    EXPECT_OK(acldvppFree(block));
  else if (by == By::MediaMpi)
    EXPECT_EQ(hi_mpi_dvpp_free(block), 0);
  else
    EXPECT_OK(aclrtFree(block));
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  return free;
}

struct Row {
  By by;
  int policy;
  size_t size;
  size_t charged;
};

constexpr int kHugeFirst = 0, kHugeOnly = 1, kNormalOnly = 2, kUnknown = 99;

void walk(const char* product, std::initializer_list<Row> rows) {
  run({{"PLAT_PRODUCT", product}}, [&] {
    EXPECT_OK(aclrtSetDevice(0));
    for (const Row& row : rows) {
      const size_t before = free_bytes();
      void* block = nullptr;
      EXPECT_OK(allocate(row.by, &block, row.size, row.policy));
      EXPECT_EQ(before - free_bytes(), row.charged) << product << ", call " << static_cast<int>(row.by)
                                                    << ", policy " << row.policy << ", size " << row.size;
      const size_t alignment = row.by == By::Media || row.by == By::MediaMpi ? 128
                               : row.charged >= 2_MiB                        ? 2_MiB
                                                                             : 512;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0U);
      release(row.by, block);
      EXPECT_EQ(free_bytes(), before) << "all of it comes back";
    }
  });
}

// Where 32 bytes are added behind a block.
TEST(SizeTable, ProductsThatPad) {
  for (const char* product : {"a2", "a3", "training", "inference"})
    walk(product, {
                      {By::Malloc, kHugeFirst, 1, 4096},
                      {By::Malloc, kHugeFirst, 4096 - 32, 4096},
                      {By::Malloc, kHugeFirst, 4096 - 31, 8192},
                      {By::Cached, kHugeFirst, 4096 - 32, 4096},
                      {By::Cached, kHugeFirst, 4096 - 31, 8192},
                      {By::Align32, kHugeFirst, 4096, 4096},
                      {By::Align32, kHugeFirst, 4097, 8192},
                      {By::WithConfig, kHugeFirst, 4096, 4096},
                      {By::WithConfig, kHugeFirst, 4097, 8192},
                      {By::TaskScheduler, kHugeFirst, 4096, 4096},
                      // Huge pages begin above 1 MiB, after rounding.
                      {By::Malloc, kHugeFirst, 1_MiB - 32, 1_MiB},
                      {By::Malloc, kHugeFirst, 1_MiB - 31, 2_MiB},
                      {By::Malloc, kUnknown, 1_MiB - 32, 1_MiB},
                      {By::Malloc, kUnknown, 1_MiB - 31, 2_MiB},
                      {By::Align32, kHugeFirst, 1_MiB, 1_MiB},
                      {By::Align32, kHugeFirst, 1_MiB + 1, 2_MiB},
                      {By::Malloc, kHugeOnly, 1, 2_MiB},
                      {By::Malloc, kHugeOnly, 2_MiB - 32, 2_MiB},
                      {By::Malloc, kHugeOnly, 2_MiB - 31, 4_MiB},
                      {By::Malloc, kNormalOnly, 3_MiB - 32, 3_MiB},
                      {By::Malloc, kNormalOnly, 3_MiB - 31, 3_MiB + 4096},
                      // Of the bits that say where memory lies, only these two calls know.
                      {By::WithConfig, 0x1000 | kHugeOnly, 1, 2_MiB},
                      {By::TaskScheduler, 0x100000 | kNormalOnly, 1, 4096},
                      {By::Media, 0, 1, 2_MiB},
                      {By::Media, 0, 2_MiB - 32, 2_MiB},
                      {By::Media, 0, 2_MiB - 31, 4_MiB},
                      {By::MediaMpi, 0, 2_MiB - 32, 2_MiB},
                      {By::MediaMpi, 0, 2_MiB - 31, 4_MiB},
                  });
}

TEST(SizeTable, TheNewestProductDoesNotPad) {
  walk("950", {
                  {By::Malloc, kHugeFirst, 4096, 4096},
                  {By::Malloc, kHugeFirst, 4097, 8192},
                  {By::Malloc, kHugeFirst, 1_MiB, 1_MiB},
                  {By::Malloc, kHugeFirst, 1_MiB + 1, 2_MiB},
                  {By::Cached, kHugeOnly, 2_MiB, 2_MiB},
                  {By::Align32, kHugeOnly, 2_MiB, 2_MiB},
              });
}

TEST(SizeTable, GiantPagesAreNotPadded) {
  run({{"PLAT_CAPACITY", "3GiB"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    const size_t before = free_bytes();
    for (const auto policy : {ACL_MEM_MALLOC_HUGE1G_ONLY, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P}) {
      void* block = nullptr;
      EXPECT_OK(aclrtMalloc(&block, 1_GiB, policy));
      EXPECT_EQ(before - free_bytes(), 1_GiB);
      EXPECT_OK(aclrtFree(block));
    }
  });
  run({{"PLAT_PRODUCT", "950"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, 1_GiB, ACL_MEM_MALLOC_HUGE1G_ONLY), 207000);
  });
}

// Every attribute is answered; what a product lacks is there with nothing in it.
TEST(SizeTable, InformationOfEveryAttribute) {
  for (const char* product : {"a2", "inference"})
    run({{"PLAT_PRODUCT", product}}, [&] {
      EXPECT_OK(aclrtSetDevice(0));
      for (int attribute = 0; attribute <= 17; ++attribute) {
        size_t free = 1, total = 1;
        EXPECT_OK(aclrtGetMemInfo(static_cast<aclrtMemAttr>(attribute), &free, &total));
        EXPECT_LE(free, total) << product << ", attribute " << attribute;
      }
      size_t hbm[2] = {}, ddr[2] = {};
      EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &hbm[0], &hbm[1]));
      EXPECT_OK(aclrtGetMemInfo(ACL_DDR_MEM, &ddr[0], &ddr[1]));
      EXPECT_EQ(hbm[1], 64_MiB);
      const bool has_hbm = std::string_view(product) == "a2";
      EXPECT_EQ(ddr[1], has_hbm ? 0 : 64_MiB) << product;
    });
}

}  // namespace
}  // namespace plat::rule_test
