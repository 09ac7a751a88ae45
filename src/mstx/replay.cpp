// SPDX-License-Identifier: Apache-2.0
// Telling a tool what was there before it: domains, then heaps, then regions with their permissions and
// names.
//
// The gate is closed, so nothing changes meanwhile except by the tool itself, and that it knows.

#include <algorithm>
#include <deque>

#include "mstx/batches.h"
#include "mstx/broker.h"

namespace plat::mstx {
namespace {

constexpr size_t kBatch = 256;

void tell_heap_again(const Tool& tool, Handle heap) {
  std::unique_lock lock(Broker::get().registry_lock);
  const Heap* const record = Broker::get().registry.heaps.live(heap);
  if (record == nullptr || !record->described) return;
  const mstxMemVirtualRangeDesc_t range = record->range;
  mstxMemHeapDesc_t desc{{}, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
  std::memcpy(&desc.usage, &record->usage, sizeof(desc.usage));
  const Handle domain = record->domain;
  const std::string name = record->name;
  lock.unlock();
  const ToolsName answer = tell_heap(tool, domain, desc, heap);
  if (answer && !name.empty())
    tell<NameHeap>(tool, [&](auto call) {
      call(domain_for(tool, domain), static_cast<mstxMemHeapHandle_t>(*answer), name.c_str());
    });
}

}  // namespace

size_t tell_again(const Tool& tool, std::span<const Handle> handles) {
  std::unique_lock lock(Broker::get().registry_lock);
  const auto& live = Broker::get().registry.regions;
  std::vector<Handle> regions;
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  const Region* first = nullptr;
  size_t count = 0;
  for (; count < std::min(handles.size(), kBatch); ++count) {
    const Region* const region = live.live(handles[count]);
    if (region == nullptr || !region->described) continue;
    if (first == nullptr) first = region;
    // Those of one domain and one heap, all with a handle or all without.
    if (region->domain != first->domain || region->heap != first->heap ||
        region->by_handle != first->by_handle)
      break;
    regions.push_back(handles[count]);
    ranges.push_back(region->range);
  }
  if (first == nullptr) return count;
  const Handle domain = first->domain;
  const Handle heap = first->heap;
  std::vector<mstxMemRegionHandle_t> names(regions.size());
  const mstxMemRegionsRegisterBatch_t batch{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, ranges.size(),
                                            ranges.data(), first->by_handle ? names.data() : nullptr};
  lock.unlock();
  tell_regions(tool, domain, heap, batch, regions);

  std::vector<Permissions::Item> permissions;
  std::vector<RegionNames::Item> named;
  std::deque<std::string> texts;
  lock.lock();
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region* const region = live.live(regions[i]);
    if (region == nullptr) continue;
    mstxMemRegionRef_t ref;
    refer(ref, names[i], *region);
    if (region->permissions) permissions.push_back({*region->permissions, ref});
    if (region->name != nullptr) named.push_back({ref, texts.emplace_back(*region->name).c_str()});
  }
  lock.unlock();
  Permissions::tell_one(tool, domain_for(tool, domain), permissions);
  RegionNames::tell_one(tool, domain_for(tool, domain), named);
  return count;
}

void tell_everything(const Tool& tool) {
  std::vector<std::pair<Handle, std::string>> domains;
  std::vector<Handle> heaps, regions;
  {
    std::lock_guard lock(Broker::get().registry_lock);
    const Registry& registry = Broker::get().registry;
    registry.domains.for_each_live(
        [&](Handle handle, const Domain& domain) { domains.emplace_back(handle, *domain.name); });
    registry.heaps.for_each_live([&](Handle handle, const Heap&) {
      heaps.push_back(handle);
      const std::vector<Handle> newest_first = registry.regions_of(handle);
      regions.insert(regions.end(), newest_first.rbegin(), newest_first.rend());
    });
    registry.regions.for_each_live([&](Handle handle, const Region& region) {
      if (!region.heap) regions.push_back(handle);
    });
  }
  const platMstxReplay_t replay{sizeof(replay), Broker::get().tools.knows_all() ? 1u : 0u, domains.size(),
                                heaps.size(), regions.size()};
  const auto tell_replay = [&](auto call) { call(&replay); };
  tell<ToolCall<kExt, PLAT_MSTX_FUNC_REPLAY_BEGIN, platMstxReplayFunc>>(tool, tell_replay);
  for (const auto& [handle, name] : domains) tell_domain(tool, name.c_str(), handle);
  for (Handle handle : heaps) tell_heap_again(tool, handle);
  for (std::span<const Handle> left = regions; !left.empty();) left = left.subspan(tell_again(tool, left));
  tell<ToolCall<kExt, PLAT_MSTX_FUNC_REPLAY_END, platMstxReplayFunc>>(tool, tell_replay);
}

}  // namespace plat::mstx
