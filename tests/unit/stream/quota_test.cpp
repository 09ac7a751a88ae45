// SPDX-License-Identifier: Apache-2.0
#include "stream/quota.h"

#include "fixture.h"

namespace plat::stream {
namespace {

Quota make_quota(uint32_t max) { return {max, {RuleId::EventLimit, "event", "events"}}; }

TEST(Quota, EachDeviceHasItsOwn) {
  Quota quota = make_quota(2);
  EXPECT_OK(quota.take(0));
  EXPECT_OK(quota.take(0));
  EXPECT_EQ(quota.left(0), 0);
  EXPECT_EQ(quota.left(1), 2);
  EXPECT_OK(quota.take(1));

  const auto refused = quota.take(0);
  EXPECT_BREAKS(EventLimit, refused);
  EXPECT_EQ(refused.error().detail, "device 0 has 2 events");
}

TEST(Quota, WhatIsGivenBackCanBeTakenAgain) {
  Quota quota = make_quota(1);
  EXPECT_OK(quota.take(3));
  EXPECT_BREAKS(EventLimit, quota.take(3));
  quota.give_back(3);
  EXPECT_OK(quota.take(3));
}

TEST(Quota, IsGivenBackWhenNothingIsMade) {
  Quota quota = make_quota(1);
  EXPECT_EQ(*quota.take_for(0, [] { return std::shared_ptr<int>(); }), nullptr);
  EXPECT_EQ(quota.left(0), 1);
  EXPECT_THROW((void)quota.take_for(0, []() -> std::shared_ptr<int> { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(quota.left(0), 1);
  EXPECT_NE(*quota.take_for(0, [] { return std::make_shared<int>(); }), nullptr);
  EXPECT_EQ(quota.left(0), 0);
}

// The product is known only once a device was opened; what there is by then stays.
TEST(Quota, ALowerMaximumLeavesNothing) {
  Quota quota = make_quota(8);
  EXPECT_OK(quota.take(0));
  EXPECT_OK(quota.take(0));
  quota.set_max(1);
  EXPECT_EQ(quota.left(0), 0);
  EXPECT_BREAKS(EventLimit, quota.take(0));
  quota.give_back(0);
  quota.give_back(0);
  EXPECT_EQ(quota.left(0), 1);
}

}  // namespace
}  // namespace plat::stream
