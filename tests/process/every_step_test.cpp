// SPDX-License-Identifier: Apache-2.0
// How each step of a scenario fails; the scenarios stand in every_step_*_test.cpp.
#include "process/every_step.h"

#include <unistd.h>

namespace plat::test {
namespace {

// How many streams and events the device still has room for: a call that failed took none.
struct Room {
  uint32_t streams = 0;
  uint32_t events = 0;
  bool operator==(const Room&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Room& room) {
  return out << room.streams << " streams, " << room.events << " events";
}
Room room_left() {
  Room room;
  EXPECT_EQ(aclrtGetStreamAvailableNum(&room.streams), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetEventAvailNum(&room.events), ACL_SUCCESS);
  return room;
}

// What the work inside a call came to. Some of it waits for what the call does not bring.
aclError code_of_work() {
  constexpr aclError kStillWaits = 507046;
  const aclError code = aclrtSynchronizeDeviceWithTimeout(20);
  return code == kStillWaits ? ACL_SUCCESS : code;
}

// Ends when the call has fewer steps than the number of the one that shall fail.
void fail_each_step(const Scenario& scenario, Work work) {
  const uint64_t used_before = used_bytes();
  const Room room_before = room_left();
  uint64_t fails_at = 1;
  for (bool was_met = true; was_met && !::testing::Test::HasFailure(); ++fails_at) {
    scenario.prepare();
    arm_step(fails_at);
    aclError code = scenario.act();
    was_met = disarm_steps() >= fails_at;
    SCOPED_TRACE(scenario.name + ", step " + std::to_string(fails_at) + " (" + failed_step() + ")");
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

}  // namespace

std::string name_of_case(const ::testing::TestParamInfo<EveryStepTest::ParamType>& made) {
  const auto& [scenario, work] = made.param;
  std::string name = scenario.name + (work == Work::Inside     ? " and its work"
                                      : work == Work::ByChance ? " and its work by chance"
                                                               : "");
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

// In a process of its own, on a machine of its own.
TEST_P(EveryStepTest, ChangesNothingOrEverything) {
  const auto& [scenario, work] = GetParam();
  in_child([&scenario = scenario, work = work] {
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

}  // namespace plat::test
