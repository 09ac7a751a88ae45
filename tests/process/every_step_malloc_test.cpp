// SPDX-License-Identifier: Apache-2.0
// A fault at every step of the allocation families, and of the repair of broken memory.
#include <array>

#include "acl/acl_rt_fault.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "base/units.h"
#include "os/page.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

alignas(os::kLargestPageBytes) std::array<char, 8192> registered;
aclrtErrorInfo broken{};

aclError prefetch_batch() {
  const void* ranges[] = {block};
  size_t sizes[] = {2_MiB};
  aclrtMemManagedLocation places[] = {{ACL_MEM_LOCATIONTYPE_DEVICE, 0}};
  size_t indexes[] = {0};
  return aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 1, places, indexes, 1, 0, stream);
}
void managed_and_stream() {
  make_stream();
  EXPECT_DONE(aclrtMemAllocManaged(&block, 2_MiB, 1));
}
std::unique_ptr<Peer> with_broken_memory() {
  setenv("PLAT_FAULT", "malloc, every=1, uce", 1);
  return nullptr;
}

std::vector<Scenario> scenarios() {
  return {
      {"aclrtMalloc of a small block", nothing,
       [] { return aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST); }, free_block},
      {"aclrtMalloc of a large block", nothing,
       [] { return aclrtMalloc(&block, 5_MiB, ACL_MEM_MALLOC_HUGE_FIRST); }, free_block},
      {"aclrtMallocAlign32", nothing,
       [] { return aclrtMallocAlign32(&block, 100, ACL_MEM_MALLOC_NORMAL_ONLY); }, free_block},
      {"aclrtMallocCached", nothing,
       [] { return aclrtMallocCached(&block, 3_MiB, ACL_MEM_MALLOC_HUGE_FIRST); }, free_block},
      {"aclrtMallocWithCfg", nothing,
       [] { return aclrtMallocWithCfg(&block, 3_MiB, ACL_MEM_MALLOC_HUGE_ONLY, nullptr); }, free_block},
      {"aclrtMallocForTaskScheduler", nothing,
       [] { return aclrtMallocForTaskScheduler(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST, nullptr); },
       free_block},
      {"aclrtFree of a small block", [] { malloc_of(4096); }, [] { return aclrtFree(block); }, nothing},
      {"aclrtFree of a large block", [] { malloc_of(5_MiB); }, [] { return aclrtFree(block); }, nothing},
      {"aclrtFree of a large block that was written",
       [] {
         malloc_of(5_MiB);
         EXPECT_DONE(aclrtMemset(block, 5_MiB, 1, 5_MiB));
       },
       [] { return aclrtFree(block); }, nothing},
      {"aclrtFreeWithDevSync", malloc_block, [] { return aclrtFreeWithDevSync(block); }, nothing},

      // Of the host.
      {"aclrtMallocHost", nothing, [] { return aclrtMallocHost(&block, 3_MiB); },
       [] { EXPECT_DONE(aclrtFreeHost(block)); }},
      {"aclrtMallocHostWithCfg", nothing, [] { return aclrtMallocHostWithCfg(&block, 3_MiB, nullptr); },
       [] { EXPECT_DONE(aclrtFreeHost(block)); }},
      {"aclrtFreeHost", [] { EXPECT_DONE(aclrtMallocHost(&block, 3_MiB)); },
       [] { return aclrtFreeHost(block); }, nothing},
      {"aclrtFreeHostWithDevSync", [] { EXPECT_DONE(aclrtMallocHost(&block, 3_MiB)); },
       [] { return aclrtFreeHostWithDevSync(block); }, nothing},
      {"aclrtHostRegister", nothing,
       [] {
         return aclrtHostRegister(registered.data(), registered.size(), ACL_HOST_REGISTER_MAPPED, &address);
       },
       [] { EXPECT_DONE(aclrtHostUnregister(registered.data())); }},
      {"aclrtHostRegisterV2", nothing,
       [] { return aclrtHostRegisterV2(registered.data(), registered.size(), ACL_HOST_REG_MAPPED); },
       [] { EXPECT_DONE(aclrtHostUnregister(registered.data())); }},
      {"aclrtHostUnregister",
       [] {
         EXPECT_DONE(
             aclrtHostRegister(registered.data(), registered.size(), ACL_HOST_REGISTER_MAPPED, &block));
       },
       [] { return aclrtHostUnregister(registered.data()); }, nothing},

      // Of media.
      {"acldvppMalloc", nothing, [] { return acldvppMalloc(&block, 4096); },
       [] { EXPECT_DONE(acldvppFree(block)); }},
      {"acldvppMallocWithCfg", nothing, [] { return acldvppMallocWithCfg(&block, 4096, nullptr); },
       [] { EXPECT_DONE(acldvppFree(block)); }},
      {"acldvppFree", [] { EXPECT_DONE(acldvppMalloc(&block, 4096)); }, [] { return acldvppFree(block); },
       nothing},
      {"hi_mpi_dvpp_malloc", nothing, [] { return hi_mpi_dvpp_malloc(0, &block, 4096); },
       [] { EXPECT_DONE(hi_mpi_dvpp_free(block)); }},
      {"hi_mpi_dvpp_free", [] { EXPECT_DONE(hi_mpi_dvpp_malloc(0, &block, 4096)); },
       [] { return hi_mpi_dvpp_free(block); }, nothing},

      // Managed.
      {"aclrtMemAllocManaged", nothing, [] { return aclrtMemAllocManaged(&block, 3_MiB, 1); }, free_block},
      {"aclrtFree of managed memory", [] { EXPECT_DONE(aclrtMemAllocManaged(&block, 3_MiB, 1)); },
       [] { return aclrtFree(block); }, nothing},
      {"aclrtMemManagedPrefetchAsync", managed_and_stream,
       [] {
         return aclrtMemManagedPrefetchAsync(block, 2_MiB, {ACL_MEM_LOCATIONTYPE_DEVICE, 0}, 0, stream);
       },
       end_work},
      {"aclrtMemManagedPrefetchBatchAsync", managed_and_stream, prefetch_batch, end_work},

      // Broken.
      {"aclrtMemUceRepair",
       [] {
         malloc_block();
         EXPECT_NE(aclrtMemset(block, 64, 1, 64), ACL_SUCCESS);
         size_t count = 0;
         EXPECT_DONE(aclrtGetMemUceInfo(0, broken.detail.uceInfo.memUceInfoArray, 2, &count));
         EXPECT_EQ(count, 1u);
       },
       [] { return aclrtMemUceRepair(0, broken.detail.uceInfo.memUceInfoArray, 1); }, free_block,
       with_broken_memory},
      {"aclrtRepairError",
       [] {
         malloc_block();
         EXPECT_NE(aclrtMemset(block, 64, 1, 64), ACL_SUCCESS);
         EXPECT_DONE(aclrtGetErrorVerbose(0, &broken));
       },
       [] { return aclrtRepairError(0, &broken); }, free_block, with_broken_memory},
  };
}

INSTANTIATE_TEST_SUITE_P(Malloc, EveryStepTest, in_every_way(scenarios()), name_of_case);

// A call for page-locked memory that fails leaves no hole: the next gets the same place as it would have.
TEST(EveryStep, LosesNoAddressesOfPageLockedMemory) {
  in_child([] {
    const Machine machine;
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* first = nullptr;
    EXPECT_DONE(aclrtMallocHost(&first, 8192));
    EXPECT_DONE(aclrtFreeHost(first));
    uint64_t fails_at = 1;
    for (bool was_met = true; was_met; ++fails_at) {
      arm_step(fails_at);
      const aclError code = aclrtMallocHost(&block, 8192);
      was_met = disarm_steps() >= fails_at;
      SCOPED_TRACE("step " + std::to_string(fails_at) + " (" + failed_step() + ")");
      if (code != ACL_SUCCESS) {
        EXPECT_DONE(aclrtMallocHost(&block, 8192));
      }
      EXPECT_EQ(block, first);
      EXPECT_DONE(aclrtFreeHost(block));
    }
    EXPECT_GT(fails_at, 2u) << "too few steps to be true";
  });
}

}  // namespace
}  // namespace plat::test
