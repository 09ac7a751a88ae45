// SPDX-License-Identifier: Apache-2.0
#include "device/crash.h"

#include "base/text.h"
#include "os/process.h"

namespace plat::device {

std::atomic<bool> crash_armed{false};

namespace {
std::string* const place_wanted = new std::string;
std::atomic<uint64_t> visits_left{0};
}  // namespace

void arm_crash(const std::string& plan) {
  crash_armed = false;
  const size_t colon = plan.rfind(':');
  if (colon == std::string::npos) return;
  const auto visits = parse_number(std::string_view(plan).substr(colon + 1));
  if (!visits || *visits == 0) return;
  *place_wanted = plan.substr(0, colon);
  visits_left = *visits;
  crash_armed = true;
}

void maybe_crash(const char* place) {
  if (*place_wanted != "any" && *place_wanted != place) return;
  if (visits_left.fetch_sub(1) == 1) os::kill_process();
}

}  // namespace plat::device
