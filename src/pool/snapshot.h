// SPDX-License-Identifier: Apache-2.0
// What a pool holds as PyTorch's memory snapshot: the format that memory_viz and plat report open.
#pragma once

#include <vector>

#include "pool/held.h"
#include "pool/resource.h"

namespace plat::pool {

// The file is replaced as a whole; PLAT_POOL_INVALID, and said, when it cannot be written.
plat_pool_status write_snapshot(std::vector<HeldRange>& ranges, const char* path);

}  // namespace plat::pool
