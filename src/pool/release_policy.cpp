// SPDX-License-Identifier: Apache-2.0
#include "pool/release_policy.h"

#include <algorithm>

namespace plat::pool {

// Allocations since the last free have only lowered what is idle, so this sees every low.
void ReleasePolicy::before_free() {
  if (options_.release != PLAT_POOL_RELEASE_IDLE) return;
  std::lock_guard guard(family_.growth);
  const uint64_t idle = idle_bytes();
  const TimePoint now = clock_now.load()();
  if (idle == 0) {  // everything is in use: what this free leaves idle is so from now on
    idle_since_ = now;
    idle_low_bytes_ = UINT64_MAX;
    return;
  }
  idle_low_bytes_ = std::min(idle_low_bytes_, idle);
  if (now - idle_since_ < std::chrono::milliseconds(options_.release_idle_ms)) return;
  if (idle_low_bytes_ != 0) backing_.trim(backing_.held_bytes() - idle_low_bytes_);
  idle_since_ = now;
  idle_low_bytes_ = UINT64_MAX;  // until the next look
}

void ReleasePolicy::after_free(const Zone& zone) {
  if (is_never() || options_.release == PLAT_POOL_RELEASE_IDLE) return;
  if (streams_.count() != 0) {  // what a stream has passed is idle too
    std::lock_guard guard(family_.growth);
    recycler_.settle(Streams::Effort::kPoll);
  }
  if (zone.heap().noted_movable_pages() == 0) return;  // the short ways are closed
  if (options_.release == PLAT_POOL_RELEASE_WATERMARK &&
      zones_.movable_pages() * kPageBytes <= options_.release_watermark)
    return;
  std::lock_guard guard(family_.growth);
  obey();
}

void ReleasePolicy::obey() {
  if (is_never() || options_.release == PLAT_POOL_RELEASE_IDLE) return;
  const uint64_t keep = options_.release == PLAT_POOL_RELEASE_NOW ? 0 : options_.release_watermark;
  const uint64_t idle = idle_bytes();
  const uint64_t held = backing_.held_bytes();
  if (idle > keep) backing_.trim(held - std::min(held, idle - keep));
}

}  // namespace plat::pool
