// SPDX-License-Identifier: Apache-2.0
// A fault at every step of functions of the client's, and of snapshots, around which some of them are called.
#include <pthread.h>
#include <unistd.h>

#include "base/units.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

const uint64_t kThread = static_cast<uint64_t>(pthread_self());
// A thread that serves one waits for what is due; another is told at once.
bool serves_a_stream() {
  EXPECT_NE(aclrtProcessReport(1), ACL_SUCCESS);
  return std::string(aclGetRecentErrMsg()).find("serves no stream") == std::string::npos;
}
uint32_t stage(int32_t, void*) { return 0; }
aclError begin(const char*, size_t, void*) { return ACL_SUCCESS; }
aclError end(void*) { return ACL_SUCCESS; }
void exception(aclrtExceptionInfo*) {}
int32_t aborted(int32_t, aclrtDeviceTaskAbortStage, uint32_t, void*) { return 0; }

void lock() {
  malloc_block();
  EXPECT_DONE(aclrtMemset(block, 2_MiB, 1, 2_MiB));
  EXPECT_DONE(aclrtSnapShotProcessLock(getpid(), nullptr));
}
void back_up() {
  lock();
  EXPECT_DONE(aclrtSnapShotProcessBackup(getpid(), nullptr));
}
void unlock() {
  EXPECT_DONE(aclrtSnapShotProcessUnlock(getpid(), nullptr));
  free_block();
}

std::vector<Scenario> scenarios() {
  return {
      {"aclrtLaunchHostFunc", make_stream,
       [] {
         return aclrtLaunchHostFunc(
             stream, [](void*) {}, nullptr);
       },
       end_stream},
      {"aclrtSubscribeReport", make_stream, [] { return aclrtSubscribeReport(kThread, stream); },
       [] {
         EXPECT_DONE(aclrtUnSubscribeReport(kThread, stream));
         EXPECT_FALSE(serves_a_stream()) << "the thread had one stream";
         end_stream();
       }},
      {"aclrtUnSubscribeReport",
       [] {
         make_stream();
         EXPECT_DONE(aclrtSubscribeReport(kThread, stream));
       },
       [] { return aclrtUnSubscribeReport(kThread, stream); },
       [] {
         EXPECT_FALSE(serves_a_stream());
         end_stream();
       }},
      {"aclrtLaunchCallback",
       [] {
         make_stream();
         EXPECT_DONE(aclrtSubscribeReport(kThread, stream));
       },
       [] { return aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_NO_BLOCK, stream); },
       [] {
         EXPECT_DONE(aclrtSynchronizeStream(stream));
         EXPECT_DONE(aclrtUnSubscribeReport(kThread, stream));
         end_stream();
       }},
      {"aclrtProcessReport",
       [] {
         make_stream();
         EXPECT_DONE(aclrtSubscribeReport(kThread, stream));
         EXPECT_DONE(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
         EXPECT_DONE(aclrtSynchronizeStream(stream));  // it is due
       },
       [] { return aclrtProcessReport(10000); },
       [] {
         EXPECT_DONE(aclrtUnSubscribeReport(kThread, stream));
         end_stream();
       }},
      {"aclrtSetExceptionInfoCallback", nothing, [] { return aclrtSetExceptionInfoCallback(exception); },
       [] { EXPECT_DONE(aclrtSetExceptionInfoCallback(nullptr)); }},
      {"aclrtExceptionInfoCallbackRegister", nothing,
       [] { return aclrtExceptionInfoCallbackRegister(exception); },
       [] { EXPECT_DONE(aclrtExceptionInfoCallbackUnregister(exception)); }},
      {"aclrtExceptionInfoCallbackUnregister",
       [] { EXPECT_DONE(aclrtExceptionInfoCallbackRegister(exception)); },
       [] { return aclrtExceptionInfoCallbackUnregister(exception); }, nothing},
      {"aclrtRegDeviceStateCallback", nothing,
       [] {
         return aclrtRegDeviceStateCallback(
             "a", [](int32_t, aclrtDeviceState, void*) {}, nullptr);
       },
       [] { EXPECT_DONE(aclrtRegDeviceStateCallback("a", nullptr, nullptr)); }},
      {"aclrtRegStreamStateCallback", nothing,
       [] {
         return aclrtRegStreamStateCallback(
             "a", [](aclrtStream, aclrtStreamState, void*) {}, nullptr);
       },
       [] { EXPECT_DONE(aclrtRegStreamStateCallback("a", nullptr, nullptr)); }},
      {"aclrtSetDeviceTaskAbortCallback", nothing,
       [] { return aclrtSetDeviceTaskAbortCallback("a", aborted, nullptr); },
       [] { EXPECT_DONE(aclrtSetDeviceTaskAbortCallback("a", nullptr, nullptr)); }},
      {"aclInitCallbackRegister", nothing,
       [] { return aclInitCallbackRegister(ACL_REG_TYPE_OTHER, begin, nullptr); },
       [] { EXPECT_DONE(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begin)); }},
      {"aclInitCallbackUnRegister",
       [] { EXPECT_DONE(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, begin, nullptr)); },
       [] { return aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begin); }, nothing},
      {"aclFinalizeCallbackRegister", nothing,
       [] { return aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, end, nullptr); },
       [] { EXPECT_DONE(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, end)); }},
      {"aclFinalizeCallbackUnRegister",
       [] { EXPECT_DONE(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, end, nullptr)); },
       [] { return aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, end); }, nothing},

      // Snapshots.
      {"aclrtSnapShotProcessLock", malloc_block, [] { return aclrtSnapShotProcessLock(getpid(), nullptr); },
       unlock},
      {"aclrtSnapShotProcessBackup", lock, [] { return aclrtSnapShotProcessBackup(getpid(), nullptr); },
       unlock},
      {"aclrtSnapShotProcessRestore", back_up, [] { return aclrtSnapShotProcessRestore(getpid(), nullptr); },
       unlock},
      {"aclrtSnapShotProcessUnlock", lock, [] { return aclrtSnapShotProcessUnlock(getpid(), nullptr); },
       free_block},
      {"aclrtSnapShotCallbackRegister", nothing,
       [] { return aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, stage, nullptr); },
       [] { EXPECT_DONE(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, stage)); }},
      {"aclrtSnapShotCallbackUnregister",
       [] { EXPECT_DONE(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, stage, nullptr)); },
       [] { return aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, stage); }, nothing},
  };
}

INSTANTIATE_TEST_SUITE_P(Callbacks, EveryStepTest, in_every_way(scenarios()), name_of_case);

}  // namespace
}  // namespace plat::test
