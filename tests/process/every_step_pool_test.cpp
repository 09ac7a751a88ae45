// SPDX-License-Identifier: Apache-2.0
// A fault at every step of pools in stream order.
#include "acl/acl_rt_memory_soma.h"
#include "base/units.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

aclrtMemPool pool = nullptr;
aclrtStream second_stream = nullptr;

aclError create_pool() {
  aclrtMemPoolProps props{};
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return aclrtMemPoolCreate(&pool, &props);
}
void make_pool() {
  make_stream();
  EXPECT_DONE(create_pool());
}
void end_pool() {
  EXPECT_DONE(aclrtSynchronizeStream(stream));
  EXPECT_DONE(aclrtMemPoolDestroy(pool));
  end_stream();
}
aclError take_from_pool() { return aclrtMemPoolMallocAsync(&block, 2_MiB, pool, stream); }
// A block that was freed on the first stream behind work that has not run, for the second to wait for.
void make_two_streams() {
  make_pool();
  EXPECT_DONE(aclrtCreateStream(&second_stream));
  uint32_t yes = 1;
  EXPECT_DONE(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &yes));
  make_notify();
  EXPECT_DONE(take_from_pool());
  EXPECT_DONE(aclrtWaitAndResetNotify(notify, stream, 0));
  EXPECT_DONE(aclrtMemPoolFreeAsync(block, stream));
}
void end_two_streams() {
  EXPECT_DONE(aclrtRecordNotify(notify, nullptr));
  EXPECT_DONE(aclrtSynchronizeStream(second_stream));
  EXPECT_DONE(aclrtSynchronizeStream(stream));
  EXPECT_DONE(aclrtDestroyStream(second_stream));
  end_notify();
  end_pool();
}

std::vector<Scenario> scenarios() {
  return {
      {"aclrtMemPoolCreate", nothing, create_pool, [] { EXPECT_DONE(aclrtMemPoolDestroy(pool)); }},
      {"aclrtMemPoolDestroy", [] { EXPECT_DONE(create_pool()); }, [] { return aclrtMemPoolDestroy(pool); },
       nothing},
      {"aclrtMemPoolMallocAsync", make_pool, take_from_pool,
       [] {
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, stream));
         end_pool();
       }},
      {"aclrtMemPoolFreeAsync",
       [] {
         make_pool();
         EXPECT_DONE(take_from_pool());
       },
       [] { return aclrtMemPoolFreeAsync(block, stream); }, end_pool},
      {"aclrtMemPoolFreeAsync of a block of the heap",
       [] {
         make_stream();
         malloc_block();
       },
       [] { return aclrtMemPoolFreeAsync(block, stream); }, end_stream},
      {"aclrtMemPoolMallocAsync behind another stream", make_two_streams,
       [] { return aclrtMemPoolMallocAsync(&block, 2_MiB, pool, second_stream); },
       [] {
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, second_stream));
         end_two_streams();
       }},
      {"aclrtSynchronizeStream of work that looks again",
       [] {
         make_two_streams();
         EXPECT_DONE(aclrtMemPoolMallocAsync(&block, 2_MiB, pool, second_stream));
       },
       [] {
         const aclError recorded = aclrtRecordNotify(notify, nullptr);
         return recorded == ACL_SUCCESS ? aclrtSynchronizeStream(second_stream) : recorded;
       },
       [] {
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, second_stream));
         end_two_streams();
       }},
      {"aclrtMemPoolTrimTo",
       [] {
         make_pool();
         EXPECT_DONE(take_from_pool());
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, stream));
         EXPECT_DONE(aclrtSynchronizeStream(stream));
       },
       [] { return aclrtMemPoolTrimTo(pool, 0); }, end_pool},
  };
}

INSTANTIATE_TEST_SUITE_P(Pool, EveryStepTest, in_every_way(scenarios()), name_of_case);

}  // namespace
}  // namespace plat::test
