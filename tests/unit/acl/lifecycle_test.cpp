// SPDX-License-Identifier: Apache-2.0
// The last error of a thread, the state of a primary context, and callbacks for streams.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"

namespace {

aclError peek() { return aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL); }
aclError take() { return aclrtGetLastError(ACL_RT_THREAD_LEVEL); }

TEST(LastError, IsTheRuntimesAndTheThreadsOwn) {
  EXPECT_EQ(take(), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 107002);
  EXPECT_EQ(peek(), 107002);
  EXPECT_EQ(peek(), 107002);
  EXPECT_EQ(aclrtCreateStream(nullptr), 100000);  // refused at the door: not remembered
  EXPECT_EQ(peek(), 107002);
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), 0);  // success changes nothing
  std::thread([] { EXPECT_EQ(peek(), 0); }).join();
  EXPECT_EQ(aclrtSetDevice(-3), 107001);  // the last one counts
  EXPECT_EQ(take(), 107001);
  EXPECT_EQ(take(), 0);
}

TEST(LastError, QuestionsAreNoFailures) {
  EXPECT_EQ(take(), 0);
  int32_t device = 0;
  EXPECT_EQ(aclrtGetDevice(&device), 107002);
  int64_t value = 0;
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_MAINBOARD_ID, &value), 207000);
  EXPECT_EQ(peek(), 0);
  EXPECT_EQ(aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(1)), 100000);
  EXPECT_EQ(aclrtGetLastError(static_cast<aclrtLastErrLevel>(-1)), 100000);
  EXPECT_EQ(peek(), 0);
}

TEST(LastError, WorkThatFailsIsRememberedByWhoWaitsForIt) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(take(), 0);
  const auto throws = [](void*) { throw 1; };
  EXPECT_EQ(aclrtLaunchHostFunc(nullptr, throws, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 507000);
  EXPECT_EQ(take(), 507000);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
}

// What a callback was told, and in which order the world learnt of it.
struct Told {
  uint32_t task, stream, thread, device, code;
};
std::vector<Told> g_exceptions;
void on_exception(aclrtExceptionInfo* info) {
  g_exceptions.push_back({aclrtGetTaskIdFromExceptionInfo(info), aclrtGetStreamIdFromExceptionInfo(info),
                          aclrtGetThreadIdFromExceptionInfo(info), aclrtGetDeviceIdFromExceptionInfo(info),
                          aclrtGetErrorCodeFromExceptionInfo(info)});
}
void on_exception_too(aclrtExceptionInfo* info) { on_exception(info); }

TEST(Exceptions, AreToldBeforeWhoWaits) {
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  const auto fails = [](void*) { throw 1; };
  const auto fail_once = [&] {
    g_exceptions.clear();
    EXPECT_EQ(aclrtLaunchHostFunc(stream, fails, nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), 507000);
    return g_exceptions.size();
  };
  EXPECT_EQ(fail_once(), 0u);
  EXPECT_EQ(aclrtExceptionInfoCallbackRegister(nullptr), 107000);
  EXPECT_EQ(aclrtExceptionInfoCallbackUnregister(nullptr), 107000);
  ASSERT_EQ(aclrtSetExceptionInfoCallback(on_exception), ACL_SUCCESS);
  ASSERT_EQ(fail_once(), 1u);
  int32_t number = 0;
  ASSERT_EQ(aclrtStreamGetId(stream, &number), ACL_SUCCESS);
  EXPECT_EQ(g_exceptions[0].stream, static_cast<uint32_t>(number));
  EXPECT_EQ(g_exceptions[0].task, 2u);
  EXPECT_EQ(g_exceptions[0].device, 1u);
  EXPECT_EQ(g_exceptions[0].code, 507000u);
  EXPECT_NE(g_exceptions[0].thread, 0u);
  ASSERT_EQ(aclrtExceptionInfoCallbackRegister(on_exception_too), ACL_SUCCESS);
  ASSERT_EQ(aclrtExceptionInfoCallbackRegister(on_exception_too), ACL_SUCCESS);
  EXPECT_EQ(fail_once(), 2u);
  ASSERT_EQ(aclrtSetExceptionInfoCallback(nullptr), ACL_SUCCESS);
  EXPECT_EQ(fail_once(), 1u);
  ASSERT_EQ(aclrtExceptionInfoCallbackUnregister(on_exception_too), ACL_SUCCESS);
  ASSERT_EQ(aclrtExceptionInfoCallbackUnregister(on_exception_too), ACL_SUCCESS);
  EXPECT_EQ(fail_once(), 0u);
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetStreamIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetThreadIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetDeviceIdFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtGetErrorCodeFromExceptionInfo(nullptr), UINT32_MAX);
  EXPECT_EQ(aclrtResetDeviceForce(1), ACL_SUCCESS);
}

TEST(PrimaryContext, IsActiveWhileTheDeviceIsSet) {
  const auto active = [](int32_t device) {
    int32_t answer = -1;
    EXPECT_EQ(aclrtGetPrimaryCtxState(device, nullptr, &answer), ACL_SUCCESS);
    return answer;
  };
  EXPECT_EQ(active(0), 0);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(active(0), 1);
  EXPECT_EQ(active(1), 0);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(active(0), 1);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(active(0), 0);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);  // no primary one
  EXPECT_EQ(active(0), 0);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  uint32_t flags = 0;
  int32_t answer = 5;
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, nullptr, nullptr), 100000);
  EXPECT_EQ(aclrtGetPrimaryCtxState(-1, &flags, &answer), 100000);
  EXPECT_EQ(aclrtGetPrimaryCtxState(-1, nullptr, &answer), 107001);
  EXPECT_EQ(answer, 5);
}

std::string g_told;
void on_state(aclrtStream stream, aclrtStreamState state, void* name) {
  int32_t number = -1;
  // It is there in both states, and calls of the client's own go through.
  EXPECT_EQ(aclrtStreamGetId(stream, &number), ACL_SUCCESS);
  g_told += static_cast<const char*>(name) + std::to_string(state) + " ";
}

TEST(StreamState, StreamsAreToldWhenTheyComeAndGo) {
  char a[] = "a", b[] = "b";
  ASSERT_EQ(aclrtRegStreamStateCallback("a", on_state, a), ACL_SUCCESS);
  EXPECT_EQ(aclrtRegStreamStateCallback("a", on_state, a), 107000);
  EXPECT_EQ(aclrtRegStreamStateCallback(nullptr, on_state, a), 107000);
  EXPECT_EQ(aclrtRegStreamStateCallback("unknown", nullptr, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);  // the default stream
  EXPECT_EQ(g_told, "a1 ");
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(g_told, "a1 ");
  ASSERT_EQ(aclrtRegStreamStateCallback("b", on_state, b), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), 107017);  // nobody is told of what is not there
  EXPECT_EQ(g_told, "a1 a1 b1 a2 b2 ");
  ASSERT_EQ(aclrtRegStreamStateCallback("a", nullptr, nullptr), ACL_SUCCESS);
  aclrtContext context = nullptr;
  g_told.clear();
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_EQ(g_told, "b1 b1 b2 b2 ");
  ASSERT_EQ(aclrtRegStreamStateCallback("b", nullptr, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
}

}  // namespace
