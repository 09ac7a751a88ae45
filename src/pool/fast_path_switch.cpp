// SPDX-License-Identifier: Apache-2.0
#include "pool/fast_path_switch.h"

#include <algorithm>

#include "base/thread_sanitizer.h"

namespace plat::pool {

FastPathSwitch::FastPathSwitch(Pool& pool, FastPath& path, const plat_pool_options& options, uint32_t tail,
                               Reporting& reporting, Uses& uses, Zones& zones, Caches& caches)
    : pool_(pool),
      path_(path),
      options_(options),
      reporting_(reporting),
      uses_(uses),
      zones_(zones),
      caches_(caches) {
  path_.tail = tail;
  path_.most = (kSmallMax - std::min(tail, kSmallMax)) & ~31u;
}

void FastPathSwitch::refresh() {
  // Else the last to open may have looked before another closed. What decides is changed before refresh() is
  // called, so that the last to be here sees all of it, and the loads of it are relaxed.
  std::lock_guard guard(mutex_);
  const bool alone = !reporting_.listening() && !uses_.any() && !tsan::is_in_program();
  path_.key = alone && options_.thread_cache != 0 && !zones_.small().is_asleep() ? caches_.key() : UINT64_MAX;
  const bool plain =
      alone && options_.source != PLAT_POOL_SOURCE_CALLER && options_.release == PLAT_POOL_RELEASE_NEVER;
  path_.large = plain ? &pool_ : nullptr;
}

void FastPathSwitch::close() {
  std::lock_guard guard(mutex_);
  path_.key = UINT64_MAX;
  path_.large = nullptr;
}

void FastPathSwitch::space_added(Space& space) {
  if (space.pages == nullptr) return;  // a chunk may go again
  if (const Space* longest = home_;
      space.zone == &zones_.large() && (longest == nullptr || longest->bytes < space.bytes))
    home_ = &space;
  if (space.zone != &zones_.small() || path_.bytes.load() != 0) return;
  path_.table = space.small.get();
  path_.base = reinterpret_cast<uint64_t>(space.base);
  path_.bytes = space.bytes;  // last: whoever sees it sees the others
}

}  // namespace plat::pool
