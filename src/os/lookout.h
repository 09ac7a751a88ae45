// SPDX-License-Identifier: Apache-2.0
// Lookout: looks for what will probably be there at once, before its thread sleeps.
//
// To wake a core that has gone to sleep takes longer than most answers between processes. A wait that was
// short lets the next one begin with looking, for a tenth of a millisecond at most, and every look lets
// others run. Who waits long sleeps at once, so nobody looks who has nothing to do. So does who has one core,
// or finds that others want the cores: whoever lets them run waits for its turn then, which a sleeper does
// not.
#pragma once

#include <algorithm>
#include <thread>
#include <utility>

#include "os/process.h"

namespace plat::os {

struct Machine {
  static uint64_t now_ns() { return monotonic_nanoseconds(); }
  static void let_others_run() { yield(); }
  static bool has_cores() {
    static const bool has = std::thread::hardware_concurrency() > 1;
    return has;
  }
};

// One thread uses it. Tests have a machine of their own.
template <class Machine>
class LookoutOn {
 public:
  static constexpr uint64_t kLookingNs = 100'000;
  static constexpr uint64_t kShortNs = 400'000;    // with the sleep and the wake-up that looking would spare
  static constexpr uint64_t kCrowdedNs = 500'000;  // longer than those have work whom one waits for
  static constexpr uint64_t kRestNs = 1'000'000'000;

  // `look` says whether there is something; `sleep` waits for it, and says whether it came.
  template <class Look, class Sleep>
  bool wait(const Look& look, const Sleep& sleep) {
    const uint64_t begin_ns = Machine::now_ns();
    if (expects_ && begin_ns >= rests_until_ns_ && saw(look, begin_ns)) return true;
    const bool came = sleep();
    expects_ = came && Machine::has_cores() && Machine::now_ns() - begin_ns < kShortNs;
    return came;
  }

 private:
  static constexpr int kMostPatience = 24;
  static constexpr int kCostOfACrowd = 8;

  template <class Look>
  bool saw(const Look& look, uint64_t begin_ns) {
    for (uint64_t now_ns = begin_ns; now_ns - begin_ns < kLookingNs;) {
      if (look()) {
        patience_ = std::min(patience_ + 1, kMostPatience);
        return true;
      }
      Machine::let_others_run();
      const uint64_t before_ns = std::exchange(now_ns, Machine::now_ns());
      if (now_ns - before_ns > kCrowdedNs) meet_a_crowd(now_ns);
    }
    return look();
  }

  // One says little: a machine of others' has taken the core for a while.
  void meet_a_crowd(uint64_t now_ns) {
    patience_ -= kCostOfACrowd;
    if (patience_ > 0) return;
    patience_ = kMostPatience;
    rests_until_ns_ = now_ns + kRestNs;
  }

  bool expects_ = false;
  int patience_ = kMostPatience;
  uint64_t rests_until_ns_ = 0;
};

using Lookout = LookoutOn<Machine>;

}  // namespace plat::os
