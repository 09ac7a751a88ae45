// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer is told of the work that clients hand to streams (base/thread_sanitizer.h).
#pragma once

#include "base/thread_sanitizer.h"

namespace plat::os::tsan {

using namespace plat::tsan;

// Work of the client's that was handed over, and work that is done, of all streams.
inline char g_handed_over, g_done;

}  // namespace plat::os::tsan
