// SPDX-License-Identifier: Apache-2.0
// Which stream's limits of cores a thread works under.
#pragma once

#include "stream/ids.h"

namespace plat::stream {

// The stream, and the set of streams in which its id means something (Streams::serial).
struct CoreChoice {
  uint64_t streams = 0;
  StreamId stream;
};

void choose_cores_of(CoreChoice choice);
// The thread's choice if it is of that set; an id of 0 otherwise.
StreamId chosen_for_cores(uint64_t streams);

}  // namespace plat::stream
