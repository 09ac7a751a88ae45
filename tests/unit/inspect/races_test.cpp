// SPDX-License-Identifier: Apache-2.0
// Races against a model that keeps every access and every edge of the order.
#include <gtest/gtest.h>

#include <random>

#include "made_up_trace.h"

namespace plat::inspect {
namespace {

constexpr uint64_t kRaced = 0x100000;
constexpr uint64_t kSize = 64;
constexpr uint64_t kOther = 0x200000;  // where copies go, each to a place of its own
constexpr uint64_t kSteps = 40;

class Trace : public test::MadeUpTrace {
 public:
  Trace() {
    apply(Op::aclrtMalloc, {kRaced, kSize, 0});
    apply(Op::aclrtMalloc, {kOther, kSteps * kSize, 0});
  }

  void fill(uint64_t stream, uint64_t offset, uint64_t size, uint32_t thread = 1) {
    apply(Op::aclrtMemsetAsync, {kRaced + offset, size, 0, stream}, "", thread);
  }
  void wait(uint64_t stream) {
    apply(Op::aclrtSynchronizeStream, {stream}, "", 1, true);
    apply(Op::aclrtSynchronizeStream, {stream});
  }
  size_t races() const { return count(RuleId::OrderRace); }
};

// Every access, and for each the set of those that come before it.
class Reference {
 public:
  // Whether something that was there before is not before it.
  bool access(size_t actor, uint64_t start, uint64_t size, bool write) {
    std::vector<bool>& before = known_[actor];
    if (actor != 0) join(before, known_[0]);
    bool races = false;
    for (size_t i = 0; i < all_.size(); ++i) {
      const bool meets = all_[i].start < start + size && start < all_[i].start + all_[i].size;
      races |= meets && (write || all_[i].write) && !(i < before.size() && before[i]);
    }
    all_.push_back({start, size, write});
    before.resize(all_.size());
    before.back() = true;
    return races;
  }
  void record(size_t event, size_t actor) {
    join(known_[actor], known_[0]);
    events_[event] = known_[actor];
  }
  void await(size_t actor, size_t event) { join(known_[actor], events_[event]); }
  void synchronise(size_t actor) { join(known_[0], known_[actor]); }

 private:
  struct One {
    uint64_t start, size;
    bool write;
  };
  static void join(std::vector<bool>& into, const std::vector<bool>& other) {
    into.resize(std::max(into.size(), other.size()));
    for (size_t i = 0; i < other.size(); ++i)
      if (other[i]) into[i] = true;
  }
  std::vector<One> all_;
  std::vector<bool> known_[5];  // by actor; the host is 0
  std::vector<bool> events_[3];
};

// Up to the first race: behind it the two may remember different accesses of the same bytes.
TEST(Races, AreFoundExactlyWhereTheReferenceHasThem) {
  size_t raced = 0, quiet = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](uint64_t count) { return random() % count; };
    Trace trace;
    Reference reference;
    bool over = false;
    for (uint64_t step = 0; step < kSteps && !over; ++step) {
      const uint64_t stream = 1 + pick(4), event = pick(3);
      const uint64_t start = pick(kSize), size = 1 + pick(std::min<uint64_t>(8, kSize - start));
      switch (pick(12)) {
        case 0:
        case 1:
          trace.apply(Op::aclrtRecordEvent, {100 + event, stream});
          reference.record(event, stream);
          continue;
        case 2:
        case 3:
          trace.apply(Op::aclrtStreamWaitEvent, {stream, 100 + event});
          reference.await(stream, event);
          continue;
        case 4:
        case 5:
          trace.wait(stream);
          reference.synchronise(stream);
          continue;
        case 6:
          trace.apply(Op::aclrtMemset, {kRaced + start, size, 0});
          over = reference.access(0, start, size, true);
          break;
        case 7:
        case 8:
          trace.fill(stream, start, size);
          over = reference.access(stream, start, size, true);
          break;
        default:
          trace.apply(Op::aclrtMemcpyAsync, {kOther + kSize * step, kRaced + start, size, 0, 3, stream});
          over = reference.access(stream, start, size, false);
          break;
      }
      ASSERT_EQ(trace.races(), over ? 1u : 0u) << "seed " << seed << " step " << step;
    }
    ++(over ? raced : quiet);
  }
  EXPECT_GT(raced, 300u);
  EXPECT_GT(quiet, 10u);
}

TEST(Races, AreSureWithinAThreadAndLikelyBetweenThreads) {
  Trace one;
  one.fill(1, 0, 8);
  one.fill(2, 0, 8);
  ASSERT_EQ(one.races(), 1u);
  EXPECT_STREQ(one.findings().back().certainty, "sure");
  Trace two;
  two.fill(1, 0, 8, 1);
  two.fill(2, 0, 8, 2);
  ASSERT_EQ(two.races(), 1u);
  EXPECT_STREQ(two.findings().back().certainty, "likely");
}

TEST(Races, AreNotJudgedBehindAValueThatMayBeWrittenLater) {
  Trace trace;
  trace.apply(Op::aclrtValueWait, {kRaced + 56, 2});
  trace.fill(2, 0, 8);
  trace.apply(Op::aclrtRecordEvent, {100, 2});  // nor behind what waits for such a stream
  trace.apply(Op::aclrtStreamWaitEvent, {3, 100});
  trace.fill(3, 0, 8);
  trace.fill(1, 0, 8);
  trace.apply(Op::aclrtValueWrite, {kRaced + 56, 1});
  EXPECT_EQ(trace.races(), 0u);
  trace.wait(2);
  trace.wait(1);
  trace.wait(3);
  trace.fill(2, 0, 8);  // from here on it is known again
  trace.fill(1, 0, 8);
  EXPECT_EQ(trace.races(), 1u);
}

// What a host function does lies between the work before it and the work behind it.
TEST(Races, AreNotJudgedBetweenAHostFunctionAndWhatIsQueuedBehindIt) {
  Trace trace;
  trace.fill(1, 0, 8);
  trace.apply(Op::aclrtLaunchHostFunc, {50, 1});
  trace.fill(1, 8, 8);
  trace.fill(2, 16, 8);
  trace.apply(Op::HostWork, {50}, "", 7);
  trace.apply(Op::aclrtMemset, {kRaced, 16, 0}, "", 7);
  EXPECT_EQ(trace.races(), 0u);
  trace.apply(Op::HostWorkEnd, {50}, "", 7);
  trace.apply(Op::aclrtMemset, {kRaced + 16, 8, 0}, "", 7);  // on its own again
  EXPECT_EQ(trace.races(), 1u);
}

TEST(Races, WithMemoryThatIsGoneAreNone) {
  Trace trace;
  trace.fill(1, 0, 8);
  trace.apply(Op::aclrtFree, {kRaced});  // a finding of its own
  trace.apply(Op::aclrtMalloc, {kRaced, kSize, 0});
  trace.fill(2, 0, 8);
  EXPECT_EQ(trace.races(), 0u);
}

TEST(Races, TakeNoMoreRoomThanWhatIsNotOverNeeds) {
  struct Silent : Listener {
  } silent;
  Model model(silent);
  Races races(model);
  Event event;
  event.op = Op::aclrtMalloc;
  event.words = {kRaced, 1 << 20, 0};
  event.number = 1;
  model.apply(event);
  for (uint64_t i = 0; i < 100'000; ++i) {
    Event fill;
    fill.op = Op::aclrtMemsetAsync;
    fill.number = i + 2;
    const Access access{fill, true, kRaced + (i * 8) % (1 << 20), 8, true, false, true, 0, 0, {0, 0}};
    EXPECT_FALSE(races.note(access, 0));  // count 0: over before it began
  }
  EXPECT_LE(races.size(), 2 * Races::kLookAfter);
}

}  // namespace
}  // namespace plat::inspect
