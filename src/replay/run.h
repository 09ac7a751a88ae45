// SPDX-License-Identifier: Apache-2.0
// Running a trace against a policy, and finding the smallest device it completes on.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "replay/policy.h"
#include "replay/trace.h"

namespace plat::replay {

struct Outcome {
  bool completed = false;
  size_t failed_at = 0;           // event, when not completed
  uint32_t failed_line = 0;       // the same in the file; 0: it has no lines
  double nanoseconds = 0;         // per event, cold: growth included
  double steady_nanoseconds = 0;  // per event of the second half
  uint64_t late_remaps = 0;       // in the second half
  Counters counters;
};

// Is told now and then which part is done, from 0 to 1.
using Watcher = std::function<void(double part)>;

Outcome run_once(const Trace& trace, const std::string& policy, uint64_t device_bytes, double slack,
                 uint64_t max_remaps = 0, const Watcher& watcher = {});

// The smallest device, to `step` of the peak, on which the trace completes; 0 when even a huge one does not
// do.
uint64_t smallest_device(const Trace& trace, const std::string& policy, double slack, double step,
                         uint64_t max_remaps = 0, const Watcher& watcher = {});

}  // namespace plat::replay
