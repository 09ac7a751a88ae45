// SPDX-License-Identifier: Apache-2.0
// The list of runnable streams: whichever is taken, the others keep their order, and nothing stays behind.
#include "stream/ready_list.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "stream/scheduler.h"

namespace plat::stream {
namespace {

// Runs nothing.
class IdleScheduler final : public Scheduler {
 public:
  void ready(std::shared_ptr<Stream>) override {}
  void wake_at(std::shared_ptr<Stream>, Clock::time_point) override {}
  bool wait(WaitingRoom&, const std::function<bool()>&, Deadline) override { return false; }
};

class ReadyListTest : public ::testing::Test {
 protected:
  ReadyListTest() {
    for (auto& stream : streams) stream = std::make_shared<Stream>(StreamTraits{}, scheduler, failures);
  }

  IdleScheduler scheduler;
  std::shared_ptr<FailurePolicy> failures = std::make_shared<FailurePolicy>();
  std::array<std::shared_ptr<Stream>, 20> streams;
};

TEST_F(ReadyListTest, TakesFromAnywhereAsADequeDoes) {
  std::mt19937 random(1);
  ReadyList list;
  std::deque<std::shared_ptr<Stream>> expected;
  std::vector<std::shared_ptr<Stream>> idle(streams.begin(), streams.end());
  for (int step = 0; step < 10000; ++step) {
    ASSERT_EQ(list.empty(), expected.empty());
    if (expected.empty() || (!idle.empty() && random() % 2 == 0)) {
      expected.push_back(idle.back());
      list.push(idle.back());
      idle.pop_back();
      continue;
    }
    const size_t before = random() % 4 == 0 ? expected.size() - 1 : random() % expected.size();
    const auto taken = list.take(before);
    ASSERT_EQ(taken, expected[before]);
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(before));
    idle.push_back(taken);
  }
}

TEST_F(ReadyListTest, LetsGoOfWhatItHoldsAtItsEnd) {
  {
    ReadyList list;
    for (const auto& stream : streams) list.push(stream);
    list.take(streams.size() - 1);
    list.take(3);
  }
  for (const auto& stream : streams) EXPECT_EQ(stream.use_count(), 1);
}

}  // namespace
}  // namespace plat::stream
