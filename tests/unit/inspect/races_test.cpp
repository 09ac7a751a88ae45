// SPDX-License-Identifier: Apache-2.0
// Races against a model that keeps every access and every edge of the order.
#include <gtest/gtest.h>

#include <optional>
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

constexpr size_t kStreams = 6;

// Every access, and for each the set of those that come before it.
class Reference {
 public:
  struct One {
    uint64_t event;
    uint64_t start, size;
    bool write;
  };
  struct Found {
    std::vector<One> with;  // those before it that it races with
    bool is_new = false;    // at a byte that has not raced before
  };
  Found access(uint64_t event, size_t actor, uint64_t start, uint64_t size, bool write) {
    std::vector<bool>& before = known_[actor];
    if (actor != 0) join(before, known_[0]);
    Found found;
    for (size_t i = 0; i < all_.size(); ++i) {
      const uint64_t first = std::max(all_[i].start, start);
      const uint64_t last = std::min(all_[i].start + all_[i].size, start + size);
      if (first >= last || !(write || all_[i].write) || (i < before.size() && before[i])) continue;
      found.with.push_back(all_[i]);
      for (uint64_t byte = first; byte < last; ++byte) {
        found.is_new |= !raced_[byte];
        raced_[byte] = true;
      }
    }
    all_.push_back({event, start, size, write});
    before.resize(all_.size());
    before.back() = true;
    return found;
  }
  void record(size_t event, size_t actor) {
    join(known_[actor], known_[0]);
    events_[event] = known_[actor];
  }
  void await(size_t actor, size_t event) { join(known_[actor], events_[event]); }
  void synchronise(size_t actor) { join(known_[0], known_[actor]); }

 private:
  static void join(std::vector<bool>& into, const std::vector<bool>& other) {
    into.resize(std::max(into.size(), other.size()));
    for (size_t i = 0; i < other.size(); ++i)
      if (other[i]) into[i] = true;
  }
  std::vector<One> all_;
  std::vector<bool> known_[kStreams + 1];  // by actor; the host is 0
  std::vector<bool> events_[3];
  bool raced_[kSize] = {};
};

// A program of streams, events and waits, each step told to both.
class Both {
 public:
  explicit Both(uint64_t seed) : random_(seed), often_(1 + seed % 12) {}

  // What the reference says, if the step was an access.
  std::optional<Reference::Found> step(uint64_t number) {
    const uint64_t stream = 1 + pick(kStreams), event = pick(3);
    start_ = pick(kSize);
    size_ = 1 + pick(std::min<uint64_t>(number % 4 == 0 ? kSize : 8, kSize - start_));
    if (pick(12) < often_) switch (pick(3)) {
        case 0:
          trace.apply(Op::aclrtRecordEvent, {100 + event, stream});
          reference_.record(event, stream);
          return {};
        case 1:
          trace.apply(Op::aclrtStreamWaitEvent, {stream, 100 + event});
          reference_.await(stream, event);
          return {};
        default:
          trace.wait(stream);
          reference_.synchronise(stream);
          return {};
      }
    const uint64_t kind = pick(8);
    const bool by_host = kind == 0, write = kind < 3;
    if (by_host)
      trace.apply(Op::aclrtMemset, {kRaced + start_, size_, 0});
    else if (write)
      trace.fill(stream, start_, size_);
    else
      trace.apply(Op::aclrtMemcpyAsync, {kOther + kSize * number, kRaced + start_, size_, 0, 3, stream});
    return reference_.access(trace.events(), by_host ? 0 : stream, start_, size_, write);
  }

  Trace trace;

 private:
  uint64_t pick(uint64_t count) { return random_() % count; }

  std::mt19937_64 random_;
  uint64_t often_;  // how often there is an edge, in twelfths
  Reference reference_;
  uint64_t start_ = 0, size_ = 0;
};

// Up to the first race, exactly; behind it the two may remember different accesses of the bytes that raced.
TEST(Races, AreFoundExactlyWhereTheReferenceHasThem) {
  size_t raced = 0, quiet = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Both both(seed);
    bool over = false;
    for (uint64_t step = 0; step < kSteps && !over; ++step) {
      if (const auto found = both.step(step)) over = !found->with.empty();
      ASSERT_EQ(both.trace.races(), over ? 1u : 0u) << "seed " << seed << " step " << step;
    }
    ++(over ? raced : quiet);
  }
  EXPECT_GT(raced, 300u);
  EXPECT_GT(quiet, 10u);
}

// However many there were: the two accesses that a finding names race, and where no byte has raced before the
// race is found.
TEST(Races, BehindOthersAreTrueAndThoseOfOtherBytesAreFound) {
  size_t findings = 0, fresh = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Both both(seed);
    for (uint64_t step = 0; step < kSteps; ++step) {
      const size_t before = both.trace.races();
      const auto found = both.step(step);
      const bool told = both.trace.races() > before;
      if (!found) {
        ASSERT_FALSE(told);
        continue;
      }
      if (found->is_new) {
        ASSERT_TRUE(told) << "seed " << seed << " step " << step;
        ++fresh;
      }
      if (!told) continue;
      ++findings;
      const uint64_t earlier = both.trace.findings().back().related.back().born.event;
      ASSERT_TRUE(std::any_of(found->with.begin(), found->with.end(),
                              [&](const Reference::One& one) { return one.event == earlier; }))
          << "seed " << seed << " step " << step << " names event " << earlier;
    }
  }
  EXPECT_GT(findings, fresh);
  EXPECT_GT(fresh, 3000u);
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

// One stream fills more ranges than are remembered, and nobody waits for it.
TEST(Races, OfTheNewerHalfAreFoundWhereThereAreTooManyToRemember) {
  struct Noting : Listener {
    void access(const Access& access) override { found = races->note(access, 0); }
    Races* races = nullptr;
    std::optional<Races::Conflict> found;
  } noting;
  Model model(noting);
  Races races(model);
  noting.races = &races;
  uint64_t number = 0;
  const auto apply = [&](Op op, std::array<uint64_t, kFieldsMax> words) {
    Event event;
    event.op = op;
    event.words = words;
    event.number = ++number;
    model.apply(event);
  };
  constexpr uint64_t kCount = 3 * Races::kRangesMax;
  apply(Op::aclrtMalloc, {kRaced, kCount * 16, 0});
  for (uint64_t i = 0; i < kCount; ++i) {
    apply(Op::aclrtMemsetAsync, {kRaced + i * 16, 8, 0, 1});
    ASSERT_LE(races.size(), Races::kRangesMax + 1);
  }
  for (const uint64_t back : {uint64_t{1}, Races::kRangesMax / 2}) {
    apply(Op::aclrtMemsetAsync, {kRaced + (kCount - back) * 16, 8, 0, 2});
    EXPECT_TRUE(noting.found) << back;
  }
  apply(Op::aclrtMemsetAsync, {kRaced, 8, 0, 2});
  EXPECT_FALSE(noting.found);  // long forgotten
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
