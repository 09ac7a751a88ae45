// SPDX-License-Identifier: Apache-2.0
// The overflow switch of streams: kept for each, and checked in the documented order.
#include <gtest/gtest.h>

#include <thread>

#include "acl/acl.h"

namespace {

constexpr aclError kParam = 100000;
constexpr aclError kNoContext = 107002;
constexpr aclError kOtherContext = 107003;
constexpr aclError kHandle = 107017;

class OverflowSwitch : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS); }

  static uint32_t switch_of(aclrtStream stream) {
    uint32_t flag = 9;
    EXPECT_EQ(aclrtGetStreamOverflowSwitch(stream, &flag), ACL_SUCCESS);
    return flag;
  }

  aclrtStream stream_ = nullptr;
};

TEST_F(OverflowSwitch, EachStreamHasItsOwn) {
  EXPECT_EQ(switch_of(stream_), 0U);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stream_, 1), ACL_SUCCESS);
  EXPECT_EQ(switch_of(stream_), 1U);
  EXPECT_EQ(switch_of(nullptr), 0U);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(nullptr, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stream_, 0), ACL_SUCCESS);
  EXPECT_EQ(switch_of(stream_), 0U);
  EXPECT_EQ(switch_of(nullptr), 1U);
}

TEST_F(OverflowSwitch, ANewStreamInheritsNothing) {
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stream_, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
  EXPECT_EQ(switch_of(stream_), 0U);
}

TEST_F(OverflowSwitch, BadArgumentsAreToldInOrder) {
  uint32_t flag = 9;
  aclrtStream stale = stream_;
  ASSERT_EQ(aclrtDestroyStream(stale), ACL_SUCCESS);
  aclrtStream live = nullptr;
  ASSERT_EQ(aclrtCreateStream(&live), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stale, 2), kParam);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stale, 1), kHandle);
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(stale, nullptr), kParam);
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(stale, &flag), kHandle);
  std::thread([&] {
    EXPECT_EQ(aclrtSetStreamOverflowSwitch(stale, 1), kHandle);
    EXPECT_EQ(aclrtSetStreamOverflowSwitch(live, 1), kNoContext);
    EXPECT_EQ(aclrtGetStreamOverflowSwitch(live, &flag), kNoContext);
    EXPECT_EQ(aclrtGetStreamOverflowSwitch(nullptr, &flag), kNoContext);
  }).join();
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(live, 1), kOtherContext);
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(live, &flag), kOtherContext);
  EXPECT_EQ(flag, 9U);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
}

TEST_F(OverflowSwitch, ThreadsMaySwitchAtOnce) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  const auto work = [&] {
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    aclrtStream own = nullptr;
    EXPECT_EQ(aclrtCreateStream(&own), ACL_SUCCESS);
    for (uint32_t i = 0; i < 100; ++i) {
      EXPECT_EQ(aclrtSetStreamOverflowSwitch(own, i % 2), ACL_SUCCESS);
      EXPECT_EQ(switch_of(own), i % 2);
    }
  };
  std::thread one(work);
  std::thread other(work);
  one.join();
  other.join();
}

}  // namespace
