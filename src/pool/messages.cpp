// SPDX-License-Identifier: Apache-2.0
#include "pool/messages.h"

#include <fmt/format.h>

#include "pool/streams.h"

namespace plat::pool {

plat_pool_status unknown_block(const std::string& pool, const void* address) {
  return report(
      PLAT_POOL_NOT_OWNED,
      fmt::format(
          "pool {}: {} is no live block of it; it was freed already, or is the middle of one, or another's",
          pool, address));
}

plat_pool_status no_block_around(const std::string& pool, const void* address) {
  return report(
      PLAT_POOL_NOT_OWNED,
      fmt::format("pool {}: {} lies in no live block of it; the block was freed already, or is another's",
                  pool, address));
}

plat_pool_status no_such_size(const std::string& pool, uint64_t bytes) {
  return report(PLAT_POOL_INVALID, fmt::format("pool {}: a block of {} bytes cannot be had", pool, bytes));
}

plat_pool_status no_such_stream(const std::string& pool, plat_stream stream) {
  return report(
      PLAT_POOL_INVALID,
      fmt::format("pool {}: {} is no stream of the device, and none that the pool has met; create it "
                  "before its first use here, and call plat_pool_free where nothing uses a block",
                  pool, stream));
}

plat_pool_status too_many_streams(const std::string& pool) {
  return report(PLAT_POOL_INVALID, fmt::format("pool {}: more than {} streams; forget the ones that are gone",
                                               pool, Streams::kMax));
}

plat_pool_status memory_sleeps(const std::string& pool) {
  return report(PLAT_POOL_ASLEEP, fmt::format("pool {}: its memory sleeps; wake it first", pool));
}

}  // namespace plat::pool
