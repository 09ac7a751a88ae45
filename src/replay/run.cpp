// SPDX-License-Identifier: Apache-2.0
#include "replay/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/units.h"

namespace plat::replay {

Outcome run_once(const Trace& trace, const std::string& name, uint64_t device_bytes, double slack,
                 uint64_t max_remaps, const Watcher& watcher) {
  constexpr size_t kOften = 1 << 16;  // events: seldom enough to cost nothing
  using Clock = std::chrono::steady_clock;
  auto policy = make_policy(name, device_bytes, trace.blocks, slack, max_remaps);
  Outcome outcome;
  const size_t half = trace.events.size() / 2;
  const auto start = Clock::now();
  auto middle = start;
  uint64_t remaps_before = 0;
  auto use = trace.uses.begin();
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (watcher && i % kOften == 0)
      watcher(static_cast<double>(i) / static_cast<double>(trace.events.size()));
    if (i == half) {
      remaps_before = policy->counters().remaps;
      middle = Clock::now();
    }
    for (; use != trace.uses.end() && use->before == i; ++use) policy->use(use->block, use->stream);
    if (!event.allocate) {
      policy->release(event.block, event.stream);
    } else if (!policy->allocate(event.block, event.bytes, event.stream)) {
      outcome.failed_at = i;
      outcome.failed_line = event.line;
      outcome.counters = policy->counters();
      return outcome;
    }
  }
  const auto end = Clock::now();
  outcome.completed = true;
  outcome.nanoseconds = std::chrono::duration<double, std::nano>(end - start).count() /
                        static_cast<double>(trace.events.size());
  outcome.steady_nanoseconds = std::chrono::duration<double, std::nano>(end - middle).count() /
                               static_cast<double>(trace.events.size() - half);
  outcome.counters = policy->counters();
  outcome.late_remaps = outcome.counters.remaps - remaps_before;
  return outcome;
}

uint64_t smallest_device(const Trace& trace, const std::string& policy, double slack, double step,
                         uint64_t max_remaps, const Watcher& watcher) {
  const uint64_t page = 2_MiB;
  uint64_t low = trace.peak_live_bytes / page;  // too small, or exactly the peak
  const Outcome unlimited = run_once(trace, policy, uint64_t{1} << 46, slack, max_remaps);
  if (!unlimited.completed) return 0;
  uint64_t high = std::max(unlimited.counters.reserved_peak / page, low + 1);
  const uint64_t stride = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(low) * step));
  const auto first = static_cast<double>(high - low);
  while (high - low > stride) {
    // Each try halves what is left, until it is the stride.
    if (watcher)
      watcher(std::log2(first / static_cast<double>(high - low)) /
              std::max(1.0, std::log2(first / static_cast<double>(stride))));
    const uint64_t middle = (low + high) / 2;
    (run_once(trace, policy, middle * page, slack, max_remaps).completed ? high : low) = middle;
  }
  return high * page;
}

}  // namespace plat::replay
