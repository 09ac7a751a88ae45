// SPDX-License-Identifier: Apache-2.0
// Telling a tool what was there before it: domains, then heaps, then regions with their permissions and
// names.
//
// The gate is closed, so nothing changes meanwhile except by the tool itself, and that it knows.

#include <algorithm>

#include "mstx/sections.h"

namespace plat::mstx {
namespace {

constexpr size_t kBatch = 256;

template <class Record>
std::vector<Handle> handles_of(SlotMap<Record>& records) {
  std::vector<Handle> handles;
  records.for_each_live([&](Handle handle, Record&) { handles.push_back(handle); });
  return handles;
}

}  // namespace

void Broker::tell_everything(Tool& tool) {
  ThreadState& thread = this_thread();
  std::vector<Handle> domains, heaps, regions;
  platMstxReplay_t replay{};
  {
    std::lock_guard lock(registry_lock_);
    domains = handles_of(registry_.domains);
    heaps = handles_of(registry_.heaps);
    for (Handle heap : heaps) {
      const std::vector<Handle> newest_first = registry_.regions_of(heap);
      regions.insert(regions.end(), newest_first.rbegin(), newest_first.rend());
    }
    registry_.regions.for_each_live([&](Handle handle, Region& region) {
      if (!region.heap) regions.push_back(handle);
    });
    replay = {sizeof(replay), missed_.load() ? 0u : 1u, domains.size(), heaps.size(), regions.size()};
  }
  const auto tell_replay = [&](Tool&, auto call) { call(&replay); };
  tell<&ToolSlots::ext, PLAT_MSTX_FUNC_REPLAY_BEGIN, platMstxReplayFunc>(thread, tool, tell_replay);
  for (Handle handle : domains) tell_domain(tool, handle);
  for (Handle handle : heaps) tell_heap(tool, handle);
  for (size_t first = 0; first < regions.size();) {
    const size_t count = alike(std::span(regions).subspan(first));
    tell_regions(tool, std::span(regions).subspan(first, count));
    first += count;
  }
  tell<&ToolSlots::ext, PLAT_MSTX_FUNC_REPLAY_END, platMstxReplayFunc>(thread, tool, tell_replay);
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

void Broker::tell_domain(Tool& tool, Handle handle) {
  std::string name;
  {
    std::lock_guard lock(registry_lock_);
    const Domain* const domain = registry_.domains.live(handle);
    if (domain == nullptr) return;
    name = domain->name;
  }
  mstxDomainHandle_t answer = nullptr;
  tell<&ToolSlots::domain, MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateAFunc>(
      this_thread(), tool, [&](Tool&, auto call) { answer = call(name.c_str()); });
  std::lock_guard lock(registry_lock_);
  tool.domains.set(handle, answer);
}

void Broker::tell_heap(Tool& tool, Handle handle) {
  Heap heap;
  std::string name;
  {
    std::lock_guard lock(registry_lock_);
    const Heap* const record = registry_.heaps.live(handle);
    if (record == nullptr || !record->described) return;
    heap = *record;
    name = registry_.heap_name(handle);
  }
  mstxMemHeapDesc_t desc{{}, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &heap.range};
  std::memcpy(&desc.usage, &heap.usage, sizeof(desc.usage));
  const mstxDomainHandle_t domain = domain_for(tool, heap.domain);
  mstxMemHeapHandle_t answer = nullptr;
  const bool told = tell<&ToolSlots::mem, MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegisterFunc>(
      this_thread(), tool, [&](Tool&, auto call) { answer = call(domain, &desc); });
  if (told && !name.empty())
    tell<&ToolSlots::ext, PLAT_MSTX_FUNC_HEAP_NAME, platMstxHeapNameFunc>(
        this_thread(), tool, [&](Tool&, auto call) { call(domain, answer, name.c_str()); });
  std::lock_guard lock(registry_lock_);
  if (told) tool.heaps.set(handle, answer);
}

void Broker::tell_regions(Tool& tool, std::span<const Handle> handles) {
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  std::vector<Region> records;
  std::vector<Handle> told_handles;
  std::vector<std::string> names;
  mstxMemHeapHandle_t heap = nullptr;
  {
    std::lock_guard lock(registry_lock_);
    for (Handle handle : handles) {
      const Region* const region = registry_.regions.live(handle);
      if (region == nullptr || !region->described) continue;
      told_handles.push_back(handle);
      ranges.push_back(region->range);
      records.push_back(*region);
      names.push_back(registry_.region_name(handle));
    }
    if (records.empty()) return;
    heap = static_cast<mstxMemHeapHandle_t>(tool.heaps.find(records.front().heap).value_or(nullptr));
  }
  ThreadState& thread = this_thread();
  const mstxDomainHandle_t domain = domain_for(tool, records.front().domain);
  std::vector<mstxMemRegionHandle_t> answers(records.size(), nullptr);
  tell<&ToolSlots::mem, MSTX_API_CORE_MEM_REGIONS_REGISTER, mstxMemRegionsRegisterFunc>(
      thread, tool, [&](Tool&, auto call) {
        const mstxMemRegionsRegisterBatch_t batch{heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, ranges.size(),
                                                  ranges.data(),
                                                  records.front().by_handle ? answers.data() : nullptr};
        call(domain, &batch);
      });
  {
    std::lock_guard lock(registry_lock_);
    for (size_t i = 0; i < told_handles.size(); ++i) tool.regions.set(told_handles[i], answers[i]);
  }

  std::vector<mstxMemPermissionsAssignRegionsDesc_t> permissions;
  std::vector<platMstxMemRegionName_t> named;
  for (size_t i = 0; i < records.size(); ++i) {
    mstxMemRegionRef_t ref{};
    ref.refType = answers[i] != nullptr ? MSTX_MEM_REGION_REF_TYPE_HANDLE : MSTX_MEM_REGION_REF_TYPE_POINTER;
    if (answers[i] != nullptr)
      ref.handle = answers[i];
    else
      ref.pointer = ranges[i].ptr;
    if (records[i].permissions) permissions.push_back({*records[i].permissions, ref});
    if (!names[i].empty()) named.push_back({ref, names[i].c_str()});
  }
  if (!permissions.empty()) {
    const mstxMemPermissionsAssignBatch_t batch{permissions.size(), permissions.data()};
    tell<&ToolSlots::mem, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, mstxMemPermissionsAssignFunc>(
        thread, tool, [&](Tool&, auto call) { call(domain, &batch); });
  }
  if (!named.empty()) {
    const platMstxMemRegionsNameBatch_t batch{sizeof(batch), named.size(), named.data()};
    tell<&ToolSlots::ext, PLAT_MSTX_FUNC_REGIONS_NAME, platMstxRegionsNameFunc>(
        thread, tool, [&](Tool&, auto call) { call(domain, &batch); });
  }
}

}  // namespace plat::mstx
