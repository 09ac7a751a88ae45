// SPDX-License-Identifier: Apache-2.0
// A fault at every step of devices and contexts, from the first call to the last.
#include <unistd.h>

#include "base/units.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

aclrtContext context = nullptr;
aclrtContext context_before = nullptr;
uint64_t number = 0;

int streams_made = 0;
void count_streams(aclrtStream, aclrtStreamState state, void*) {
  streams_made += state == ACL_RT_STREAM_STATE_CREATE_POST ? 1 : -1;
}
void begin_again() {
  EXPECT_DONE(aclInit(nullptr));
  EXPECT_DONE(aclrtSetDevice(0));
}

std::vector<Scenario> scenarios() {
  return {
      {"aclrtSetDevice of a second device", nothing, [] { return aclrtSetDevice(1); },
       [] {
         EXPECT_DONE(aclrtResetDevice(1));
         EXPECT_DONE(aclrtSetDevice(0));
       }},
      {"aclrtResetDevice", [] { EXPECT_DONE(aclrtSetDevice(1)); }, [] { return aclrtResetDevice(1); },
       [] { EXPECT_DONE(aclrtSetDevice(0)); }},
      {"aclrtResetDeviceForce", [] { EXPECT_DONE(aclrtSetDevice(1)); },
       [] { return aclrtResetDeviceForce(1); }, [] { EXPECT_DONE(aclrtSetDevice(0)); }},
      {"aclrtCreateContext", nothing, [] { return aclrtCreateContext(&context, 0); },
       [] {
         EXPECT_DONE(aclrtDestroyContext(context));
         EXPECT_DONE(aclrtSetDevice(0));
       }},
      // With its last context a device is closed, unless one is left that nobody knows of.
      {"aclrtCreateContext of another device", nothing, [] { return aclrtCreateContext(&context, 1); },
       [] {
         EXPECT_DONE(aclrtDestroyContext(context));
         EXPECT_DONE(aclrtSetDevice(0));
         aclrtPhysicalMemProp prop{};
         prop.memAttr = ACL_HBM_MEM_HUGE;
         prop.location = {1, ACL_MEM_LOCATION_TYPE_DEVICE};
         EXPECT_NE(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0), ACL_SUCCESS) << "the device is open";
       }},
      {"aclrtDestroyContext",
       [] {
         EXPECT_DONE(aclrtRegStreamStateCallback("counts", count_streams, nullptr));
         EXPECT_DONE(aclrtGetCurrentContext(&context_before));
         EXPECT_DONE(aclrtCreateContext(&context, 0));
         make_work();
         for (int i = 0; i < 40; ++i) EXPECT_DONE(aclrtMemsetAsync(block, 2_MiB, i, 2_MiB, stream));
         EXPECT_DONE(aclrtMemsetAsync(block, 2_MiB, 1, 2_MiB, nullptr));
       },
       [] { return aclrtDestroyContext(context); },
       [] {
         EXPECT_EQ(streams_made, 0) << "the end of each was told";
         EXPECT_DONE(aclrtRegStreamStateCallback("counts", nullptr, nullptr));
         EXPECT_NE(aclrtDestroyContext(context), ACL_SUCCESS);
         EXPECT_DONE(aclrtSetCurrentContext(context_before));
         EXPECT_NE(aclrtDestroyStream(stream), ACL_SUCCESS);  // it went with its context
         free_block();
       }},
      {"aclrtDeviceEnablePeerAccess", nothing, [] { return aclrtDeviceEnablePeerAccess(1, 0); },
       [] { EXPECT_DONE(aclrtDeviceDisablePeerAccess(1)); }},
      {"aclrtDeviceDisablePeerAccess", [] { EXPECT_DONE(aclrtDeviceEnablePeerAccess(1, 0)); },
       [] { return aclrtDeviceDisablePeerAccess(1); }, nothing},
      {"aclrtMemP2PMap",
       [] {
         malloc_block();
         EXPECT_DONE(aclrtSetDevice(1));
         EXPECT_DONE(aclrtDeviceEnablePeerAccess(0, 0));
       },
       [] { return aclrtMemP2PMap(block, 2_MiB, 1, 0); },
       [] {
         EXPECT_DONE(aclrtDeviceDisablePeerAccess(0));
         EXPECT_DONE(aclrtResetDevice(1));
         EXPECT_DONE(aclrtSetDevice(0));
         free_block();
       }},
      {"aclFinalize", make_work, [] { return aclFinalize(); }, begin_again},
      {"aclFinalizeReference", make_work, [] { return aclFinalizeReference(&number); }, begin_again},
  };
}

INSTANTIATE_TEST_SUITE_P(Device, EveryStepTest, in_every_way(scenarios()), name_of_case);

// Opening a device happens once in a process, so each fault has one of its own. Whatever fails, the next
// process finds the device as it was, and can open it.
TEST(EveryStep, OfOpeningADevice) {
  const Machine machine;
  uint64_t fails_at = 1;
  for (bool was_met = true; was_met && !HasFailure(); ++fails_at) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    in_child([&] {
      alarm(200);
      arm_step(fails_at);
      const aclError initialised = aclInit(nullptr);
      const aclError opened = initialised == ACL_SUCCESS ? aclrtSetDevice(0) : initialised;
      const uint64_t steps = disarm_steps();
      SCOPED_TRACE("step " + std::to_string(fails_at) + " (" + failed_step() + ")");
      if (initialised != ACL_SUCCESS) {
        EXPECT_DONE(aclInit(nullptr));
      }
      if (opened != ACL_SUCCESS) {
        EXPECT_DONE(aclrtSetDevice(0));
      }
      EXPECT_EQ(used_bytes(), 0u);
      void* memory = map_new(2_MiB);
      EXPECT_NE(memory, nullptr) << aclGetRecentErrMsg();
      EXPECT_DONE(aclrtMemset(memory, 4096, 1, 4096));
      const char met = steps >= fails_at ? 1 : 0;
      EXPECT_EQ(write(ends[1], &met, 1), 1);
    });
    char met = 0;
    close(ends[1]);
    if (::read(ends[0], &met, 1) != 1) ADD_FAILURE() << "the process of step " << fails_at << " said nothing";
    close(ends[0]);
    was_met = met != 0;
  }
  EXPECT_GT(fails_at, 20u) << "too few steps to be true";
}

}  // namespace
}  // namespace plat::test
