// SPDX-License-Identifier: Apache-2.0
// What a thread remembers of its current context. Nearly every call asks for it, so asking is a few loads.
#pragma once

#include <cstdint>

#include "stream/ids.h"

namespace plat::stream {

// Trivial, so that it can still be read while the thread's destructors run.
struct Current {
  uint64_t runtime;
  ContextId context;
  // What was found when the context was last looked up, and how many contexts had been closed by then.
  uint64_t closed_plus_one;  // 0: not looked up yet
  int device;
};

[[gnu::tls_model("initial-exec")]] extern constinit thread_local Current t_current;

}  // namespace plat::stream
