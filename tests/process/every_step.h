// SPDX-License-Identifier: Apache-2.0
// A fault at every step: each call is made again and again, and each time another one of its system calls and
// allocations fails. A call that failed has changed nothing: the same call without a fault then succeeds. One
// that succeeded in spite of it has its whole effect. Either way everything can be taken down afterwards, and
// all memory comes back.
//
// A file of scenarios for each subject makes cases of them by one line:
//   INSTANTIATE_TEST_SUITE_P(Copy, EveryStepTest, in_every_way(scenarios()), name_of_case);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "support/failing_steps.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {

struct Scenario {
  std::string name;
  std::function<void()> prepare;
  std::function<aclError()> act;
  std::function<void()> undo;
  // Another process that has something to share, if the call needs one; made before the first call.
  std::function<std::unique_ptr<Peer>()> with = [] { return nullptr; };
};
inline void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

// How the work of streams runs: in threads of the library, where no step fails; inside the call that queues
// it, where all of its steps count; or in part there, in an order that chance gives. What fails inside is
// told when the stream is next waited for.
enum class Work : uint8_t { Elsewhere, Inside, ByChance };

class EveryStepTest : public ::testing::TestWithParam<std::tuple<Scenario, Work>> {};

inline auto in_every_way(const std::vector<Scenario>& scenarios) {
  return ::testing::Combine(::testing::ValuesIn(scenarios),
                            ::testing::Values(Work::Elsewhere, Work::Inside, Work::ByChance));
}
std::string name_of_case(const ::testing::TestParamInfo<EveryStepTest::ParamType>& made);

#define EXPECT_DONE(call) EXPECT_EQ((call), ACL_SUCCESS) << aclGetRecentErrMsg()

// What most scenarios work with.
inline void* block = nullptr;
inline void* address = nullptr;
inline aclrtDrvMemHandle handle = nullptr;
inline aclrtStream stream = nullptr;
inline aclrtEvent event = nullptr;
inline aclrtNotify notify = nullptr;

inline void nothing() {}
inline void malloc_of(size_t size) { EXPECT_DONE(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST)); }
inline void malloc_block() { malloc_of(4_MiB); }
inline void free_block() { EXPECT_DONE(aclrtFree(block)); }
inline void allocate_handle() { handle = allocate(2_MiB); }
inline void free_handle() { EXPECT_DONE(aclrtFreePhysical(handle)); }
inline void make_stream() { EXPECT_DONE(aclrtCreateStream(&stream)); }
inline void end_stream() {
  EXPECT_DONE(aclrtSynchronizeStream(stream));
  EXPECT_DONE(aclrtDestroyStream(stream));
}
inline void make_work() {
  make_stream();
  malloc_block();
}
inline void end_work() {
  end_stream();
  free_block();
}
inline void make_event() { EXPECT_DONE(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC)); }
inline void end_event() { EXPECT_DONE(aclrtDestroyEvent(event)); }
inline void make_notify() { EXPECT_DONE(aclrtCreateNotify(&notify, 0)); }
inline void end_notify() { EXPECT_DONE(aclrtDestroyNotify(notify)); }

constexpr aclError kNothing = 500000;  // said for a call that has no code
inline aclError is_made(const void* made) { return made != nullptr ? ACL_SUCCESS : kNothing; }

// Some calls are of one product only.
inline std::function<std::unique_ptr<Peer>()> as(const char* product) {
  return [=] {
    setenv("PLAT_PRODUCT", product, 1);
    return nullptr;
  };
}

}  // namespace plat::test
