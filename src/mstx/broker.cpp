// SPDX-License-Identifier: Apache-2.0
#include "mstx/broker.h"

#include <pthread.h>

namespace plat::mstx {

// The registry must not be torn in the child, so forking waits for it.
Broker::Broker() {
  pthread_atfork([] { get().registry_lock.lock(); }, [] { get().registry_lock.unlock(); },
                 [] {
                   reopen_board();
                   get().tools.only_this_thread();
                   get().ranges.only_this_thread();
                   get().registry_lock.unlock();
                 });
}

void tell_everything(const Tool& tool) {
  std::vector<std::pair<Handle, std::string>> domains;
  std::vector<Handle> heaps, regions;
  {
    const std::lock_guard lock(Broker::get().registry_lock);
    const Registry& registry = Broker::get().registry;
    registry.domains.for_each_live(
        [&](Handle handle, const Domain& domain) { domains.emplace_back(handle, *domain.name); });
    registry.heaps.for_each_live([&](Handle handle, const Heap& heap) {
      if (heap.range) heaps.push_back(handle);
      const std::vector<Handle> newest_first = registry.regions_of(handle);
      regions.insert(regions.end(), newest_first.rbegin(), newest_first.rend());
    });
    registry.regions.for_each_live([&](Handle handle, const Region& region) {
      if (!region.heap) regions.push_back(handle);
    });
    std::erase_if(regions, [&](Handle region) { return !registry.regions.live(region)->range; });
  }
  const platMstxReplay_t replay{sizeof(replay), Broker::get().tools.knows_all() ? 1u : 0u, domains.size(),
                                heaps.size(), regions.size()};
  tell<ToolCall<kExt, PLAT_MSTX_FUNC_REPLAY_BEGIN, platMstxReplayFunc>>(tool, &replay);
  for (const auto& [handle, name] : domains) tell_domain(tool, name.c_str(), handle);
  for (const Handle handle : heaps) tell_heap(tool, handle);
  for (std::span<const Handle> left = regions; !left.empty();) left = left.subspan(tell_regions(tool, left));
  tell<ToolCall<kExt, PLAT_MSTX_FUNC_REPLAY_END, platMstxReplayFunc>>(tool, &replay);
}

}  // namespace plat::mstx
