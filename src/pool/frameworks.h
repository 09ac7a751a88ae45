// SPDX-License-Identifier: Apache-2.0
// What the end of a pool must know of the streams that take their memory from it.
#pragma once

#include "pool/resource.h"

namespace plat::pool {

// Takes a pool that ends off the streams on which it is registered, so that the runtime asks it no more.
void leave_streams(plat_pool* pool);

}  // namespace plat::pool
