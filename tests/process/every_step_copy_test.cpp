// SPDX-License-Identifier: Apache-2.0
// A fault at every step of copies, fills, values and caches.
#include <array>

#include "base/units.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

std::vector<char> large_host(2_MiB);
std::array<char, 4096> host{};
size_t failed = 0;  // which of several copies did

void make_small_work() {
  make_stream();
  malloc_of(4096);
}
// Where the addresses of a copy stand, in memory of the device.
void** addresses() { return reinterpret_cast<void**>(static_cast<char*>(block) + 1_MiB); }
void write_addresses() {
  make_work();
  const void* both[] = {block, static_cast<char*>(block) + 2_MiB};
  EXPECT_DONE(aclrtMemcpy(addresses(), sizeof both, both, sizeof both, ACL_MEMCPY_HOST_TO_DEVICE));
}
aclError copy_with_offset() {
  return aclrtMemcpyAsyncWithOffset(addresses(), 4096, 0, const_cast<const void**>(addresses() + 1), 64, 64,
                                    ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}
// Two copies, by one of the calls that take several: copy(what all of these calls take).
template <class Copy>
aclError batch(const Copy& copy) {
  void* targets[] = {block, static_cast<char*>(block) + 4096};
  void* sources[] = {host.data(), host.data() + 64};
  size_t sizes[] = {64, 64};
  aclrtMemcpyBatchAttr attribute{};
  attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
  size_t index = 0;
  return copy(targets, sizes, sources, sizes, 2, &attribute, &index, 1);
}

std::vector<Scenario> scenarios() {
  return {
      {"aclrtMemcpy to new memory", [] { malloc_of(2_MiB); },
       [] { return aclrtMemcpy(block, 1_MiB, large_host.data(), 1_MiB, ACL_MEMCPY_HOST_TO_DEVICE); },
       free_block},
      {"aclrtMemcpyAsync", make_small_work,
       [] {
         return aclrtMemcpyAsync(block, 2048, static_cast<char*>(block) + 2048, 2048,
                                 ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtMemcpyAsync by a buffer", make_work,
       [] {
         return aclrtMemcpyAsync(block, 4096, host.data(), 4096, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtMemcpyAsyncWithCondition", make_work,
       [] {
         return aclrtMemcpyAsyncWithCondition(block, 64, host.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtMemcpyAsyncWithOffset", write_addresses, copy_with_offset, end_work},
      {"aclrtMemcpyAsyncWithDesc",
       [] {
         make_work();
         EXPECT_DONE(aclrtSetMemcpyDesc(block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE,
                                        static_cast<char*>(block) + 4096, static_cast<char*>(block) + 1024,
                                        16, nullptr));
       },
       [] { return aclrtMemcpyAsyncWithDesc(block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream); }, end_work},
      {"aclrtMemcpy2d", malloc_block,
       [] { return aclrtMemcpy2d(block, 4096, host.data(), 64, 64, 8, ACL_MEMCPY_HOST_TO_DEVICE); },
       free_block},
      {"aclrtMemcpy2dAsync", make_work,
       [] {
         return aclrtMemcpy2dAsync(block, 4096, host.data(), 64, 64, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtMemcpyBatch", malloc_block,
       [] { return batch([](auto... two) { return aclrtMemcpyBatch(two..., &failed); }); }, free_block},
      {"aclrtMemcpyBatchV2", malloc_block,
       [] { return batch([](auto... two) { return aclrtMemcpyBatchV2(two...); }); }, free_block},
      {"aclrtMemcpyBatchAsync", make_work,
       [] { return batch([](auto... two) { return aclrtMemcpyBatchAsync(two..., &failed, stream); }); },
       end_work},
      {"aclrtMemcpyBatchAsyncV2", make_work,
       [] { return batch([](auto... two) { return aclrtMemcpyBatchAsyncV2(two..., stream); }); }, end_work},
      {"aclrtReduceAsync", make_work,
       [] {
         return aclrtReduceAsync(block, static_cast<char*>(block) + 1_MiB, 64,
                                 ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream, nullptr);
       },
       end_work},
      {"aclrtMemset of new memory", [] { malloc_of(2_MiB); },
       [] { return aclrtMemset(block, 1_MiB, 1, 1_MiB); }, free_block},
      {"aclrtMemsetAsync", make_small_work, [] { return aclrtMemsetAsync(block, 4096, 1, 4096, stream); },
       end_work},
      {"aclrtMemsetD32", malloc_block, [] { return aclrtMemsetD32(block, 4096, 7, 1024); }, free_block},
      {"aclrtMemsetD32Async", make_work, [] { return aclrtMemsetD32Async(block, 4096, 7, 1024, stream); },
       end_work},
      {"aclrtValueWrite", make_work, [] { return aclrtValueWrite(block, 7, 0, stream); }, end_work},
      {"aclrtValueWait", make_work, [] { return aclrtValueWait(block, 0, ACL_STREAM_WAIT_VALUE_EQ, stream); },
       end_work},
      {"aclrtCmoAsync", make_work, [] { return aclrtCmoAsync(block, 64, ACL_RT_CMO_TYPE_PREFETCH, stream); },
       end_work},
      {"aclrtCmoAsyncWithBarrier", make_work,
       [] { return aclrtCmoAsyncWithBarrier(block, 64, ACL_RT_CMO_TYPE_INVALID, 3, stream); }, end_work},
      {"aclrtCmoWaitBarrier",
       [] {
         make_work();
         EXPECT_DONE(aclrtCmoAsyncWithBarrier(block, 64, ACL_RT_CMO_TYPE_INVALID, 3, stream));
       },
       [] {
         aclrtBarrierTaskInfo info{};
         info.barrierNum = 1;
         info.cmoInfo[0] = {ACL_RT_CMO_TYPE_INVALID, 3};
         return aclrtCmoWaitBarrier(&info, stream, 0);
       },
       end_work},
      {"aclrtCmoAsyncWithDesc",
       [] {
         make_work();
         EXPECT_DONE(aclrtCmoSetDesc(block, static_cast<char*>(block) + 4096, 16));
       },
       [] { return aclrtCmoAsyncWithDesc(block, ACL_RT_CMO_TYPE_FLUSH, stream, nullptr); }, end_work},
  };
}

INSTANTIATE_TEST_SUITE_P(Copy, EveryStepTest, in_every_way(scenarios()), name_of_case);

}  // namespace
}  // namespace plat::test
