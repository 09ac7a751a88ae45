// Reset: every block is freed in one call.
#include <fmt/format.h>

#include "pool/pool_impl.h"

namespace plat::pool {

// Everything is freed at once: the records are dropped, the pages go to the bank and back them anew when
// needed.
plat_pool_status Pool::reset() {
  flush_epoch_.fetch_add(1);
  flush_thread();
  std::lock_guard growth(growth_);
  {
    std::lock_guard guard(caches_mutex_);
    for (const ThreadCache* cache : caches_)
      for (const auto& lane : cache->lanes)
        if (lane->cached_blocks() != 0)
          return report(PLAT_POOL_BUSY,
                        fmt::format("pool {}: other threads still keep blocks of it in their caches", name_));
  }
  ++resets_;
  reset_locked();
  for_companions([](Pool& companion) { companion.reset_locked(); });
  return PLAT_POOL_OK;
}

void Pool::reset_locked() {
  settle(Streams::Effort::kWait, nullptr, 0);
  if (tool_.listening()) tell_reset();
  for_zones([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    if (zone.spans() != nullptr) {
      std::vector<uint32_t> all;
      zone.spans()->all(all);
      for (uint32_t span : all) drop_span(zone, span);
      zone.spans()->clear();
      return;
    }
    std::vector<uint32_t> live;
    for (uint32_t id = zone.heap().first_block(); id != core::kNoBlock; id = zone.heap().block(id).next)
      if (zone.heap().block(id).state == core::BlockState::kLive) live.push_back(id);
    for (uint32_t id : live) {
      zone.close(zone.space_of(zone.heap().block(id).start), id);
      zone.heap().release(id);
    }
  });
  forget_shared();
  refresh_front();
  obey_release();
}

}  // namespace plat::pool
