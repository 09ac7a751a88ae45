// SPDX-License-Identifier: Apache-2.0
// A fault at every step: each call is made again and again, and each time another one of its system calls and
// allocations fails. A call that failed has changed nothing: the same call without a fault then succeeds. One
// that succeeded in spite of it has its whole effect. Either way everything can be taken down afterwards, and
// all memory comes back.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "support/failing_steps.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {

struct Scenario {
  const char* name;
  std::function<void()> prepare;
  std::function<aclError()> act;
  std::function<void()> undo;
  // Another process that has something to share, if the call needs one; made before the first call.
  std::function<std::unique_ptr<Peer>()> with = [] { return nullptr; };
};

// How many streams and events the device still has room for: a call that failed took none.
struct Room {
  uint32_t streams = 0;
  uint32_t events = 0;
  bool operator==(const Room&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Room& room) {
  return out << room.streams << " streams, " << room.events << " events";
}
inline Room room_left() {
  Room room;
  EXPECT_EQ(aclrtGetStreamAvailableNum(&room.streams), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetEventAvailNum(&room.events), ACL_SUCCESS);
  return room;
}

#define EXPECT_DONE(call) EXPECT_EQ((call), ACL_SUCCESS) << aclGetRecentErrMsg()

// How the work of streams runs: in threads of the library, where no step fails; inside the call that queues
// it, where all of its steps count; or in part there, in an order that chance gives. What fails inside is
// told when the stream is next waited for.
enum class Work : uint8_t { Elsewhere, Inside, ByChance };

// What the work inside a call came to. Some of it waits for what the call does not bring.
inline aclError code_of_work() {
  constexpr aclError kStillWaits = 507046;
  const aclError code = aclrtSynchronizeDeviceWithTimeout(20);
  return code == kStillWaits ? ACL_SUCCESS : code;
}

// Ends when the call has fewer steps than the number of the one that shall fail.
inline void fail_each_step(const Scenario& scenario, Work work) {
  const uint64_t used_before = used_bytes();
  const Room room_before = room_left();
  uint64_t fails_at = 1;
  for (bool was_met = true; was_met && !::testing::Test::HasFailure(); ++fails_at) {
    scenario.prepare();
    arm_step(fails_at);
    aclError code = scenario.act();
    was_met = disarm_steps() >= fails_at;
    const std::string where =
        std::string(scenario.name) + ", step " + std::to_string(fails_at) + " (" + failed_step() + ")";
    SCOPED_TRACE(where);
    if (code == ACL_SUCCESS && was_met && work != Work::Elsewhere) code = code_of_work();
    if (code != ACL_SUCCESS) {
      EXPECT_TRUE(was_met) << "it failed without a fault: " << aclGetRecentErrMsg();
      EXPECT_STRNE(aclGetRecentErrMsg(), "");
      EXPECT_DONE(scenario.act());
    }
    scenario.undo();
    EXPECT_EQ(used_bytes(), used_before);
    EXPECT_EQ(room_left(), room_before);
  }
  EXPECT_LT(fails_at, 10000u);
}

// In a process of its own, on a machine of its own.
inline void fail_each_step_alone(const Scenario& scenario, Work work) {
  in_child([&] {
    alarm(200);  // nothing may hang
    const Machine machine;
    if (work == Work::Inside) setenv("PLAT_STREAMS", "eager", 1);
    if (work == Work::ByChance) setenv("PLAT_STREAMS", "seeded:7", 1);
    setenv("PLAT_LOG", "info", 1);  // what is said takes steps, too
    setenv("PLAT_LOG_FILE", "/dev/null", 1);
    const std::unique_ptr<Peer> other = scenario.with();
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    fail_each_step(scenario, work);
    if (other != nullptr) other->kill_now();
  });
}

inline std::string name_of(const Scenario& scenario, Work work) {
  std::string name = std::string(scenario.name) + (work == Work::Inside     ? " and its work"
                                                   : work == Work::ByChance ? " and its work by chance"
                                                                            : "");
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

}  // namespace plat::test
