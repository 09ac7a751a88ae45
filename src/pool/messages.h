// SPDX-License-Identifier: Apache-2.0
// What a pool says when it refuses; each leaves the sentence for plat_pool_last_error().
#pragma once

#include <string>

#include "pool/resource.h"

namespace plat::pool {

// Of an address that must be that of a block, and of one that may lie anywhere in it.
plat_pool_status unknown_block(const std::string& pool, const void* address);
plat_pool_status no_block_around(const std::string& pool, const void* address);
plat_pool_status no_such_size(const std::string& pool, uint64_t bytes);
plat_pool_status no_such_stream(const std::string& pool, plat_stream stream);
plat_pool_status too_many_streams(const std::string& pool);
plat_pool_status memory_sleeps(const std::string& pool);

}  // namespace plat::pool
