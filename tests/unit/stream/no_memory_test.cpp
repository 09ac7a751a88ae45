// SPDX-License-Identifier: Apache-2.0
// A stream that has no memory to wait with: it gives its thread back, looks again, and in the end says so.
#include <gtest/gtest.h>

#include <memory>
#include <new>

#include "rules/rules.h"
#include "stream/scheduler.h"
#include "stream/stream.h"

namespace plat::stream {
namespace {

// Runs nothing, and has no memory for a timer unless it is said to have.
class BareScheduler final : public Scheduler {
 public:
  void ready(std::shared_ptr<Stream>) override {}
  void wake_at(std::shared_ptr<Stream>, Clock::time_point time) override {
    if (!has_memory) throw std::bad_alloc();
    alarms.push_back(time);
  }
  bool wait(WaitingRoom&, const std::function<bool()>&, Deadline) override { return false; }

  bool has_memory = false;
  std::vector<Clock::time_point> alarms;
};

class NoMemory : public ::testing::Test {
 protected:
  WaitStep wait_step() { return {mark, std::chrono::hours(1), pending}; }

  BareScheduler scheduler;
  std::shared_ptr<FailurePolicy> failures = std::make_shared<FailurePolicy>();
  std::shared_ptr<Stream> stream = std::make_shared<Stream>(StreamTraits{}, scheduler, failures);
  std::shared_ptr<Mark> mark = std::make_shared<Mark>();
  std::shared_ptr<std::atomic<int>> pending = std::make_shared<std::atomic<int>>(1);
};

TEST_F(NoMemory, AWaitGivesItsThreadBackAndGoesOnLater) {
  ASSERT_TRUE(stream->push(wait_step()));
  EXPECT_EQ(stream->run(100), Stream::Turn::More);
  EXPECT_EQ(stream->run(100, Stream::Manner::Brief), Stream::Turn::More);
  EXPECT_FALSE(stream->is_complete());
  scheduler.has_memory = true;
  EXPECT_EQ(stream->run(100), Stream::Turn::Parked);
  EXPECT_EQ(scheduler.alarms.size(), 1U);
  mark->complete(Clock::now());
  EXPECT_EQ(stream->run(100), Stream::Turn::Idle);
  EXPECT_FALSE(stream->take_error());
  EXPECT_EQ(pending->load(), 0);
}

TEST_F(NoMemory, APollGivesItsThreadBackAndGoesOnLater) {
  bool done = false;
  ASSERT_TRUE(stream->push(Poll([&]() -> Result<bool> { return done; })));
  EXPECT_EQ(stream->run(100), Stream::Turn::More);
  done = true;
  EXPECT_EQ(stream->run(100), Stream::Turn::Idle);
  EXPECT_FALSE(stream->take_error());
}

TEST_F(NoMemory, ForGoodIsAnErrorOfTheStream) {
  ASSERT_TRUE(stream->push(wait_step()));
  while (stream->run(100, Stream::Manner::Brief) == Stream::Turn::More) {
  }
  EXPECT_TRUE(stream->is_complete());
  const auto error = stream->take_error();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->rule, RuleId::DeviceInternal);
  EXPECT_NE(error->detail.find("out of host memory"), std::string::npos);
  EXPECT_EQ(pending->load(), 0);
  EXPECT_FALSE(stream->take_error());
}

}  // namespace
}  // namespace plat::stream
