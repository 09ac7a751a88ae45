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

// While the stream is found to be gone, the program makes another, which gets the same name and is put to
// work.
TEST_F(DomainsTest, TakesNoNewStreamForTheOneThatIsGone) {
  const uint16_t domain = streams.domain_of(stream(1));
  streams.join_batch(domain);
  events.meanwhile = [&] {
    events.gone = {stream(1)};
    events.meanwhile = [&] {
      events.gone.clear();
      events.busy = {stream(1)};
    };
  };
  const Streams::Passed passed = streams.passed(domain, Streams::Effort::kPoll);
  EXPECT_EQ(passed.batch, 0u) << "its work may use what is freed on it";
  EXPECT_EQ(passed.gone, nullptr);
  EXPECT_EQ(streams.domain_of(stream(1)), domain);
  events.busy.clear();
  EXPECT_NE(streams.passed(domain, Streams::Effort::kPoll).batch, 0u);
}

TEST_F(DomainsTest, KnowsAStreamThatIsGone) {
  const uint16_t domain = streams.domain_of(stream(1));
  streams.join_batch(domain);
  events.gone = {stream(1)};
  EXPECT_EQ(streams.passed(domain, Streams::Effort::kPoll).gone, stream(1));
  EXPECT_TRUE(streams.knows(stream(1)));
  EXPECT_EQ(streams.domain_to_free_on(stream(1)), 0);
  EXPECT_EQ(streams.domain_of(stream(2)), 2) << "the place is not free before it is settled";
  streams.vacate(domain);
  EXPECT_EQ(streams.domain_of(stream(3)), domain);
  EXPECT_TRUE(streams.knows(stream(1)));
}

}  // namespace
}  // namespace plat::test
