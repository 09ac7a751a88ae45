// SPDX-License-Identifier: Apache-2.0
#include "stream/core_choice.h"

namespace plat::stream {

namespace {
constinit thread_local CoreChoice t_choice{};
}

void choose_cores_of(CoreChoice choice) { t_choice = choice; }

StreamId chosen_for_cores(uint64_t streams) {
  return t_choice.streams == streams ? t_choice.stream : StreamId{};
}

}  // namespace plat::stream
