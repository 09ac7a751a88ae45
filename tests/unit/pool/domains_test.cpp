// SPDX-License-Identifier: Apache-2.0
// Streams by itself: which domain a stream has, and what a place is when it is another's.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "fake_source.h"
#include "pool/streams.h"

namespace plat::test {
namespace {

using pool::Streams;

// Whose question how a stream is lets another thread go on.
class InterruptedEvents final : public FakeEvents {
 public:
  pool::StreamState state(plat_stream stream) override {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return FakeEvents::state(stream);
  }
  std::function<void()> meanwhile;
};

class DomainsTest : public ::testing::Test {
 protected:
  static plat_stream stream(uintptr_t number) { return reinterpret_cast<plat_stream>(number << 4); }
  void forget(plat_stream which) {
    uint32_t batch = 0;
    streams.vacate(streams.finish(which, &batch));
  }
  InterruptedEvents events;
  Streams streams{events};
};

TEST_F(DomainsTest, GivesAPlaceThatIsFreeToTheNextStream) {
  EXPECT_EQ(streams.domain_of(stream(1)), 1);
  EXPECT_EQ(streams.domain_of(stream(2)), 2);
  const uint32_t before = streams.join_batch(1);
  forget(stream(1));
  EXPECT_EQ(streams.domain_of(stream(3)), 1);
  EXPECT_GT(streams.join_batch(1), before) << "what is settled as the first's is not the third's";
  EXPECT_EQ(streams.count(), 2);
}

// Two threads meet a new stream at once, and before the slower one has looked another stream's place is free.
TEST_F(DomainsTest, GivesAStreamOneDomain) {
  streams.domain_of(stream(1));
  streams.domain_of(stream(2));
  events.meanwhile = [&] {
    EXPECT_EQ(streams.domain_of(stream(3)), 3);
    forget(stream(1));
  };
  EXPECT_EQ(streams.domain_of(stream(3)), 3);
  uint32_t batch = 0;
  EXPECT_EQ(streams.finish(stream(3), &batch), 3);
}

}  // namespace
}  // namespace plat::test
