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
#include <string>
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

#define EXPECT_DONE(call) EXPECT_EQ((call), ACL_SUCCESS) << aclGetRecentErrMsg()

// Ends when the call has fewer steps than the number of the one that shall fail.
inline void fail_each_step(const Scenario& scenario) {
  const uint64_t used_before = used_bytes();
  uint64_t fails_at = 1;
  for (uint64_t steps = fails_at; steps >= fails_at && !::testing::Test::HasFailure(); ++fails_at) {
    scenario.prepare();
    arm_step(fails_at);
    const aclError code = scenario.act();
    steps = disarm_steps();
    const std::string where =
        std::string(scenario.name) + ", step " + std::to_string(fails_at) + " (" + failed_step() + ")";
    SCOPED_TRACE(where);
    if (code != ACL_SUCCESS) {
      EXPECT_GE(steps, fails_at) << "it failed without a fault: " << aclGetRecentErrMsg();
      EXPECT_STRNE(aclGetRecentErrMsg(), "");
      EXPECT_DONE(scenario.act());
    }
    scenario.undo();
    EXPECT_EQ(used_bytes(), used_before);
  }
  EXPECT_LT(fails_at, 10000u);
}

// In a process of its own, on a machine of its own.
inline void fail_each_step_alone(const Scenario& scenario) {
  in_child([&] {
    alarm(200);  // nothing may hang
    const Machine machine;
    const std::unique_ptr<Peer> other = scenario.with();
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    fail_each_step(scenario);
    if (other != nullptr) other->kill_now();
  });
}

inline std::string name_of(const Scenario& scenario) {
  std::string name = scenario.name;
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

}  // namespace plat::test
