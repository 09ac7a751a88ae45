// SPDX-License-Identifier: Apache-2.0
// What the device says of a call goes into the trace, before the call itself if that is watched.
#include "base/breach.h"

#include <cstdio>

#include "inspect/record/recorder.h"
#include "inspect/record/stacks.h"

extern "C" __attribute__((visibility("default"))) void plat_inspect_hear(const char* rule, int code,
                                                                         const char* text) {
  using namespace plat::inspect;
  ThreadState& state = t_state;
  if (state.busy == Busy::Writing) return;
  // A warning may come from under a lock of the device, where nothing should be started.
  if (code == 0 ? g_phase.load(std::memory_order_acquire) != Phase::Running : !start()) return;
  char line[512];
  std::snprintf(line, sizeof line, "%s %s", rule, text);
  const bool in_call = state.busy == Busy::InCall;
  const Writing writing(state);
  // Not later than the call itself, whose event may count from its beginning and has the stack.
  const bool may_be_early = in_call && state.begun != 0;
  const EventHead head{.ticks = may_be_early ? state.begun : ticks(),
                       .stack = in_call ? 0 : capture_stack(__builtin_frame_address(0))};
  write<Op::DeviceSays>(head, {static_cast<uint64_t>(static_cast<int64_t>(code)), in_call ? 1u : 0u}, line);
}
