// SPDX-License-Identifier: Apache-2.0
// Telling a tool what was there before it: domains, then heaps, then regions with their permissions and
// names.
//
// The gate is closed, so nothing changes meanwhile except by the tool itself, and that it knows.

#include <algorithm>

#include "mstx/broker.h"
#include "mstx/sections.h"

namespace plat::mstx {
namespace {

constexpr size_t kBatch = 256;

}  // namespace

void Broker::tell_everything(Tool& tool) {
  ThreadState& thread = this_thread();
  std::vector<std::pair<Handle, std::string>> domains;
  std::vector<Handle> heaps, regions;
  platMstxReplay_t replay{};
  {
    std::lock_guard lock(registry_lock_);
    registry_.domains.for_each_live(
        [&](Handle handle, Domain& domain) { domains.emplace_back(handle, domain.name); });
    registry_.heaps.for_each_live([&](Handle handle, Heap&) {
      heaps.push_back(handle);
      const std::vector<Handle> newest_first = registry_.regions_of(handle);
      regions.insert(regions.end(), newest_first.rbegin(), newest_first.rend());
    });
    registry_.regions.for_each_live([&](Handle handle, Region& region) {
      if (!region.heap) regions.push_back(handle);
    });
    replay = {sizeof(replay), tools.knows_all() ? 1u : 0u, domains.size(), heaps.size(), regions.size()};
  }
  const auto tell_replay = [&](auto call) { call(&replay); };
  tell<Ext<PLAT_MSTX_FUNC_REPLAY_BEGIN, platMstxReplayFunc>>(thread, tool, tell_replay);
  for (const auto& [handle, name] : domains) {
    mstxDomainHandle_t answer = nullptr;
    tell_domain(tool, name.c_str(), handle, answer);
  }
  for (Handle handle : heaps) tell_again(tool, handle);
  for (size_t first = 0; first < regions.size();) {
    const size_t count = alike(std::span(regions).subspan(first));
    tell_again(tool, std::span(regions).subspan(first, count));
    first += count;
  }
  tell<Ext<PLAT_MSTX_FUNC_REPLAY_END, platMstxReplayFunc>>(thread, tool, tell_replay);
}

size_t Broker::alike(std::span<const Handle> handles) {
  std::lock_guard lock(registry_lock_);
  const Region* const first = registry_.regions.live(handles.front());
  size_t count = 1;
  for (; first != nullptr && count < std::min(handles.size(), kBatch); ++count) {
    const Region* const next = registry_.regions.live(handles[count]);
    if (next == nullptr || next->domain != first->domain || next->heap != first->heap ||
        next->by_handle != first->by_handle)
      break;
  }
  return count;
}

}  // namespace plat::mstx
