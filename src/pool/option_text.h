// SPDX-License-Identifier: Apache-2.0
// Options of a pool as text, "limit=8GiB,release=now", for programs that cannot say them in code.
#pragma once

#include "pool/resource.h"

namespace plat::pool {

// Changes what the environment variable says. PLAT_POOL_INVALID, and said, for a key or a value that is not
// understood; then `options` are as they were.
plat_pool_status read_options(const char* variable, plat_pool_options& options);

}  // namespace plat::pool
