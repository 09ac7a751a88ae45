// SPDX-License-Identifier: Apache-2.0
#include "os/lookout.h"

#include <gtest/gtest.h>

namespace plat::os {
namespace {

// A machine whose clock the test moves.
struct Toy {
  static inline uint64_t now = 0, turn = 0;  // how long others run whenever they are let
  static inline bool cores = true;
  static uint64_t now_ns() { return now; }
  static void let_others_run() { now += turn; }
  static bool has_cores() { return cores; }
};

class Lookouts : public testing::Test {
 protected:
  using Tested = LookoutOn<Toy>;
  Lookouts() {
    Toy::now = 0;
    Toy::turn = 1000;
    Toy::cores = true;
  }
  // One wait for what comes so much later. Whether it slept.
  bool slept(uint64_t comes_after_ns) {
    const uint64_t comes_ns = Toy::now + comes_after_ns;
    bool sleeps = false;
    looks = 0;
    EXPECT_TRUE(lookout.wait(
        [&] {
          looks += 1;
          return Toy::now >= comes_ns;
        },
        [&] {
          sleeps = true;
          Toy::now = std::max(Toy::now, comes_ns);
          return true;
        }));
    return sleeps;
  }

  Tested lookout;
  int looks = 0;
};

TEST_F(Lookouts, AShortWaitLetsTheNextOneLook) {
  EXPECT_TRUE(slept(10'000));
  EXPECT_EQ(looks, 0);
  EXPECT_FALSE(slept(10'000));
  EXPECT_GT(looks, 1);
  EXPECT_FALSE(slept(0));
}

TEST_F(Lookouts, WhoWaitsLongSleepsAtOnce) {
  EXPECT_TRUE(slept(10'000));
  EXPECT_TRUE(slept(Tested::kShortNs));  // looks for a while only,
  EXPECT_EQ(looks, Tested::kLookingNs / Toy::turn + 1);
  EXPECT_TRUE(slept(10'000));  // and then not at all
  EXPECT_EQ(looks, 0);
}

TEST_F(Lookouts, NothingThatCameIsNothingToExpect) {
  EXPECT_TRUE(slept(10'000));
  EXPECT_FALSE(lookout.wait([] { return false; }, [] { return false; }));
  EXPECT_TRUE(slept(10'000));
  EXPECT_EQ(looks, 0);
}

TEST_F(Lookouts, OneCoreIsForOthers) {
  Toy::cores = false;
  for (int wait = 0; wait < 3; ++wait) EXPECT_TRUE(slept(10'000));
  EXPECT_EQ(looks, 0);
}

TEST_F(Lookouts, WhoFindsACrowdSleepsForAWhile) {
  EXPECT_TRUE(slept(10'000));
  Toy::turn = Tested::kCrowdedNs + 1;
  int waits = 0;
  while (!slept(10'000) && waits < 10) waits += 1;
  EXPECT_LT(waits, 10);
  EXPECT_EQ(looks, 0);
  Toy::now += Tested::kRestNs;
  Toy::turn = 1000;
  EXPECT_FALSE(slept(10'000));
}

// As on a machine that others share, who take the cores now and then.
TEST_F(Lookouts, ARareCrowdChangesNothing) {
  EXPECT_TRUE(slept(10'000));
  for (int wait = 0; wait < 1000; ++wait) {
    Toy::turn = wait % 20 == 0 ? Tested::kCrowdedNs + 1 : 1000;
    EXPECT_FALSE(slept(10'000)) << wait;
  }
}

}  // namespace
}  // namespace plat::os
