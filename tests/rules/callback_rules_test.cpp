// SPDX-License-Identifier: Apache-2.0
// Callbacks, their threads and reports: every rule broken and kept.
#include <pthread.h>

#include <stdexcept>
#include <thread>

#include "rules/stream_fixture.h"

namespace plat::rule_test {
namespace {

// The number of this thread, as the calls want it.
uint64_t self() { return static_cast<uint64_t>(pthread_self()); }

RULE_BROKEN(CallbackFunction) {
  Device device;
  EXPECT_BREAKS(aclrtLaunchHostFunc(nullptr, nullptr, nullptr));
  EXPECT_BREAKS(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, nullptr));
}
RULE_KEPT(CallbackFunction) {
  Device device;
  EXPECT_OK(aclrtLaunchHostFunc(nullptr, nothing, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

RULE_BROKEN(CallbackUnserved) {
  Device device;
  EXPECT_BREAKS(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, make_stream()));
}
RULE_KEPT(CallbackUnserved) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(60000));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

RULE_BROKEN(CallbackLost) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
  EXPECT_OK(aclrtUnSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
}
RULE_KEPT(CallbackLost) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(60000));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtUnSubscribeReport(self(), stream));
}

RULE_BROKEN(CallbackReturn) {
  Device device;
  aclrtStream stream = make_stream();
  const auto throws = [](void*) { throw std::runtime_error("the program's own"); };
  EXPECT_OK(aclrtLaunchHostFunc(stream, throws, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtLaunchHostFunc(
      stream, [](void*) { throw 1; }, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeDevice());
  EXPECT_OK(aclrtLaunchHostFunc(
      stream, [](void*) { pthread_exit(nullptr); }, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(throws, nullptr, ACL_CALLBACK_BLOCK, stream));
  EXPECT_BREAKS(aclrtProcessReport(60000));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}
RULE_KEPT(CallbackReturn) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtLaunchHostFunc(
      stream,
      [](void*) {
        try {
          throw std::runtime_error("caught");
        } catch (const std::exception&) {
        }
      },
      nullptr));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

// A thread that serves callbacks may end in one of them: the stream goes on.
TEST(CallbackReturn, AThreadMayEndInACallback) {
  run({}, [] {
    Device device;
    aclrtStream stream = make_stream();
    aclrtContext context = nullptr;
    EXPECT_OK(aclrtGetCurrentContext(&context));
    bool survived = false;
    std::thread([&] {
      EXPECT_OK(aclrtSetCurrentContext(context));
      EXPECT_OK(aclrtSubscribeReport(self(), stream));
      EXPECT_OK(
          aclrtLaunchCallback([](void*) { pthread_exit(nullptr); }, nullptr, ACL_CALLBACK_BLOCK, stream));
      (void)aclrtProcessReport(60000);
      survived = true;
    }).join();
    EXPECT_FALSE(survived);
    EXPECT_OK(aclrtSynchronizeStream(stream));
  });
}

// The thread that waits runs the work itself here, and ends inside its call.
TEST(CallbackReturn, AThreadMayEndInAHostFunctionOfItsOwnCall) {
  run({{"PLAT_STREAMS", "eager"}}, [] {
    Device device;
    aclrtContext context = nullptr;
    EXPECT_OK(aclrtGetCurrentContext(&context));
    bool survived = false;
    std::thread([&] {
      EXPECT_OK(aclrtSetCurrentContext(context));
      (void)aclrtLaunchHostFunc(
          nullptr, [](void*) { pthread_exit(nullptr); }, nullptr);
      survived = true;
    }).join();
    EXPECT_FALSE(survived);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 507000);
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
  });
}

RULE_BROKEN(SubscribeTwice) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtSubscribeReport(self() + 1, stream));
}
RULE_KEPT(SubscribeTwice) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
}

RULE_BROKEN(SubscribeDevice) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_BREAKS(aclrtSubscribeReport(self(), make_stream()));
}
RULE_KEPT(SubscribeDevice) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSubscribeReport(self() + 1, make_stream()));
}

RULE_BROKEN(SubscribeLimit) {
  Device device;
  for (uint64_t thread = 1; thread <= 1024; ++thread) EXPECT_OK(aclrtSubscribeReport(thread, make_stream()));
  EXPECT_BREAKS(aclrtSubscribeReport(5000, make_stream()));
}
RULE_KEPT(SubscribeLimit) {
  Device device;
  for (int count = 0; count < 1100; ++count) EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
}

RULE_BROKEN(SubscribeMissing) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_BREAKS(aclrtUnSubscribeReport(self(), stream));
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_BREAKS(aclrtUnSubscribeReport(self() + 1, stream));
}
RULE_KEPT(SubscribeMissing) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtUnSubscribeReport(self(), stream));
}

RULE_BROKEN(ReportTimeoutValue) {
  EXPECT_BREAKS(aclrtProcessReport(0));
  EXPECT_BREAKS(aclrtProcessReport(-2));
}
RULE_KEPT(ReportTimeoutValue) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(-1));
}

RULE_BROKEN(ReportThread) { EXPECT_BREAKS(aclrtProcessReport(5)); }
RULE_KEPT(ReportThread) {
  Device device;
  aclrtStream stream = make_stream();

  pthread_t name{};
  std::thread([&] {
    EXPECT_OK(aclrtSetDevice(0));
    name = pthread_self();
    EXPECT_OK(aclrtSubscribeReport(static_cast<uint64_t>(name), stream));
    EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_BLOCK, stream));
    EXPECT_OK(aclrtProcessReport(60000));
  }).join();
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

RULE_BROKEN(ReportTimeout) {
  Device device;
  EXPECT_OK(aclrtSubscribeReport(self(), make_stream()));
  EXPECT_BREAKS(aclrtProcessReport(5));
}
RULE_KEPT(ReportTimeout) {
  Device device;
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtSubscribeReport(self(), stream));
  EXPECT_OK(aclrtLaunchCallback(nothing, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
  EXPECT_OK(aclrtProcessReport(60000));
}

}  // namespace
}  // namespace plat::rule_test
