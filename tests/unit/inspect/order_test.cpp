// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/order.h"

#include <gtest/gtest.h>

namespace plat::inspect {
namespace {

TEST(Order, StreamsKnowNothingOfEachOtherByThemselves) {
  Order order;
  const uint32_t first = order.new_actor(), second = order.new_actor();
  const Position work = order.act(first);
  EXPECT_TRUE(order.is_before(work, first));
  EXPECT_FALSE(order.is_before(work, second));
  EXPECT_FALSE(order.is_before(work, Order::kHost));
}

TEST(Order, AnEventOrdersWhatWasBeforeIt) {
  Order order;
  const uint32_t first = order.new_actor(), second = order.new_actor();
  const Position before = order.act(first);
  const Clock recorded = order.clock_of(first);
  const Position after = order.act(first);
  order.join(second, recorded);
  EXPECT_TRUE(order.is_before(before, second));
  EXPECT_FALSE(order.is_before(after, second));
}

TEST(Order, WhatTheHostHasWaitedForIsBeforeAllThatItQueuesLater) {
  Order order;
  const uint32_t first = order.new_actor(), second = order.new_actor();
  const Position work = order.act(first);
  order.join(Order::kHost, order.clock_of(first));
  order.act(second);
  EXPECT_TRUE(order.is_before(work, second));
  EXPECT_TRUE(order.is_before(work, Order::kHost));
}

TEST(Order, OrderIsPassedOn) {
  Order order;
  const uint32_t first = order.new_actor(), second = order.new_actor(), third = order.new_actor();
  const Position work = order.act(first);
  order.join(second, order.clock_of(first));
  order.join(third, order.clock_of(second));
  EXPECT_TRUE(order.is_before(work, third));
}

}  // namespace
}  // namespace plat::inspect
