// SPDX-License-Identifier: Apache-2.0
// Resource: what the C API can ask of a pool, and what a decorator passes on to the pool it wraps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plat/pool.h"
#include "pool/fast_path.h"
#include "pool/held.h"
#include "pool/process.h"

namespace plat::pool {

// Far beyond it the sums of sizes and tails wrap around.
inline constexpr uint64_t kLargestRequest = uint64_t{1} << 40;

struct Request {
  uint64_t bytes = 0;
  uint64_t alignment = 0;  // 0: what the purpose needs
  plat_stream stream = nullptr;
  plat_pool_purpose purpose = PLAT_POOL_COMPUTE;
  uint16_t tag = 0;
};

// Leaves the sentence that plat_pool_last_error() tells, and returns the status.
plat_pool_status report(plat_pool_status status, std::string_view sentence);
const char* last_error();
// The caller's options, or those of plat_pool_options_init; PLAT_POOL_INVALID, and said, when one is wrong.
plat_pool_status settle_options(const char* call, const plat_pool_options* options,
                                plat_pool_options* chosen);

}  // namespace plat::pool

// The C handle is the interface itself.
struct plat_pool {
  using Request = plat::pool::Request;
  plat::pool::FastPath fast;
  const plat::pool::ProcessStamp made{};  // nothing but the fast path is touched in another process
  virtual ~plat_pool() = default;
  // Before the end, which cannot fail: gives back what it holds.
  virtual plat_pool_status close() { return PLAT_POOL_OK; }
  // For callers that have not looked at the fast path, which decorators never open.
  plat_pool_status allocate(const Request& request, void** address);
  plat_pool_status release(void* address, plat_stream stream);
  // For those that have.
  virtual plat_pool_status allocate_otherwise(const Request& request, void** address) = 0;
  virtual plat_pool_status release_otherwise(void* address, plat_stream stream) = 0;
  virtual plat_pool_status use_on(void* address, plat_stream stream) = 0;
  virtual plat_pool_status forget_stream(plat_stream stream) = 0;
  virtual plat_pool_status resize(void* address, uint64_t bytes) = 0;
  virtual plat_pool_status usable(const void* address, uint64_t* bytes, uint64_t* with_tail) = 0;
  virtual plat_pool_status stats(plat_pool_stats* stats) = 0;
  virtual plat_pool_status tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) = 0;
  virtual plat_pool_status reset_peaks() = 0;
  virtual plat_pool_status set_limits(uint64_t limit_bytes, uint64_t host_limit_bytes) = 0;
  virtual plat_pool_status owner(const void* address, plat_pool_block* block) = 0;
  // Appends every live block, in any order.
  virtual plat_pool_status list(std::vector<plat_pool_block>& blocks) = 0;
  // Appends the stretches of device memory that the pool holds, of all that came through decorators or not.
  virtual plat_pool_status held(std::vector<plat::pool::HeldRange>& ranges) = 0;
  virtual plat_pool_status trim(uint64_t keep_bytes) = 0;
  virtual plat_pool_status reset() = 0;
  // How often every block was freed at once: who keeps some of them compares, and knows that they are gone.
  virtual uint64_t resets() const { return 0; }
  virtual plat_pool_status set_oom_callback(plat_pool_oom_callback callback, void* user) = 0;
  virtual plat_pool_status flush_thread() = 0;
  virtual plat_pool_status sleep(uint16_t tag, bool save) = 0;
  virtual plat_pool_status wake(uint16_t tag) = 0;
  // Whether the block is memory of the host, which copies and fills must be told.
  virtual bool on_host(const void* address) = 0;
  virtual plat_pool_status name_block(void* address, const char* name) = 0;
  // The pool at the bottom of a stack of decorators.
  virtual plat_pool* base() { return this; }
};
