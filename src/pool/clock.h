// SPDX-License-Identifier: Apache-2.0
// What time it is, for the policy that gives idle memory back. Tests set a clock of their own, and wait for
// nothing.
#pragma once

#include <atomic>
#include <chrono>

namespace plat::pool {

using TimePoint = std::chrono::steady_clock::time_point;
inline std::atomic<TimePoint (*)()> clock_now{std::chrono::steady_clock::now};

}  // namespace plat::pool
