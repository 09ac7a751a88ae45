// SPDX-License-Identifier: Apache-2.0
// The modes that make runs repeatable, and the setting that chooses them.
#include "fixture.h"

#include <random>

namespace plat::stream {
namespace {

TEST(Mode, SettingIsUnderstood) {
  EXPECT_EQ(parse_mode("pool")->mode, Mode::Pool);
  EXPECT_EQ(parse_mode("eager")->mode, Mode::Eager);
  EXPECT_EQ(parse_mode("seeded")->mode, Mode::Seeded);
  EXPECT_EQ(parse_mode("seeded:42")->mode, Mode::Seeded);
  EXPECT_EQ(parse_mode("seeded:42")->seed, 42U);
  for (const char* text : {"", "lazy", "seeded:", "seeded:x", "seeded42", "Eager"})
    EXPECT_BREAKS(StreamMode, parse_mode(text));
}

TEST(Mode, EagerRunsInsideTheCall) {
  Streams runtime(options_for(Mode::Eager));
  ASSERT_TRUE(runtime.set_device(0));
  const StreamId stream = runtime.create_stream(0, 0).value();
  std::thread::id ran_in;
  EXPECT_OK(
      runtime.enqueue(stream, [&]() -> Result<> { return ran_in = std::this_thread::get_id(), Result<>{}; }));
  EXPECT_EQ(ran_in, std::this_thread::get_id());
  EXPECT_TRUE(runtime.is_complete(stream).value());
}

// The order in which tasks of several streams run, in a program with one thread.
std::vector<int> interleaving(uint64_t seed) {
  Options options = options_for(Mode::Seeded);
  options.seed = seed;
  Streams runtime(options);
  EXPECT_TRUE(runtime.set_device(0));
  std::vector<int> order;
  std::vector<StreamId> streams;
  for (int stream = 0; stream < 5; ++stream) streams.push_back(runtime.create_stream(0, 0).value());
  for (int task = 0; task < 50; ++task) {
    EXPECT_OK(runtime.enqueue(streams[task % 5],
                              [&order, task]() -> Result<> { return order.push_back(task), Result<>{}; }));
  }
  EXPECT_OK(runtime.synchronize_device());
  return order;
}

TEST(Mode, SameSeedSameInterleaving) {
  EXPECT_EQ(interleaving(1), interleaving(1));
  EXPECT_EQ(interleaving(7), interleaving(7));
}

TEST(Mode, OtherSeedOtherInterleaving) { EXPECT_NE(interleaving(1), interleaving(2)); }

// A client that looks at memory and calls nothing still sees the work done.
TEST(Mode, SeededWorkRunsWhileNobodyCalls) {
  Streams runtime(options_for(Mode::Seeded));
  ASSERT_TRUE(runtime.set_device(0));
  std::atomic<int> ran{0};
  for (int task = 0; task < 20; ++task) {
    EXPECT_OK(runtime.enqueue(StreamId{}, [&]() -> Result<> {
      ++ran;
      ran.notify_all();
      return {};
    }));
  }
  for (int now = ran; now < 20; now = ran) ran.wait(now);
}

// Where no thread can be made, the client's own calls run the work, and in the same order as ever.
TEST(Mode, SeededWorkNeedsNoThread) {
  const std::vector<int> expected = interleaving(3);
  std::vector<int> alone;
  {
    const NoThreads none;
    alone = interleaving(3);
  }
  EXPECT_EQ(alone, expected);
}

TEST(Mode, RuntimesDoNotShareWhatAThreadRemembers) {
  Streams one(options_for(Mode::Pool));
  Streams two(options_for(Mode::Pool));
  EXPECT_OK(one.set_device(0));
  EXPECT_BREAKS(NoContext, two.contexts().current_id());
}

}  // namespace
}  // namespace plat::stream
