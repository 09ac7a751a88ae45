// SPDX-License-Identifier: Apache-2.0
// Regions, and what may be done with them.

#include <algorithm>
#include <array>

#include "mstx/refs.h"
#include "mstx/scratch.h"
#include "mstx/sections.h"

namespace plat::mstx {

void Broker::regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* desc) {
  static constexpr char kCall[] = "mstxMemRegionsRegister";
  ChangeSection section(*this);
  if (!section.memory_matters()) return;
  if (desc == nullptr || desc->regionDescArray == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT, kCall, 0, uint64_t{0});
    return;
  }
  const size_t count = desc->regionCount;
  if (count == 0) return;
  const auto* const ranges = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->regionDescArray);

  // What the tools get: the client's batch as far as the client fills it in, then with their own heap and
  // room for their own handles.
  mstxMemRegionsRegisterBatch_t told{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, count, desc->regionDescArray,
                                     nullptr};
  Place place;
  mstxMemRegionHandle_t* out = nullptr;
  Scratch<Handle, 16> handles(count);
  std::array<mstxMemHeapHandle_t, PLAT_MSTX_TOOLS_MAX> heaps{};
  {
    std::lock_guard lock(registry_lock_);
    const auto found = place_of(domain, section, kCall);
    if (!found) return;
    place = *found;
    Handle heap;
    if (!place.dialect->fields_unset) {
      std::memcpy(&told.regionType, &desc->regionType, sizeof(told.regionType));
      out = desc->regionHandleArrayOut;
      if (desc->heap != nullptr) heap = heap_of(desc->heap, section, kCall);
    }
    const bool described = value_of(told.regionType) == MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
    if (!described) section.notice(PLAT_MSTX_NOTICE_MEM_TYPE, kCall, 0, uint64_t{value_of(told.regionType)});
    for (size_t i = 0; i < count; ++i) {
      Region region;
      region.domain = place.domain;
      region.heap = heap;
      region.described = described;
      region.by_handle = out != nullptr;
      if (described) region.range = ranges[i];
      handles[i] = registry_.add_region(region);
    }
    for (Tool* tool : section.tools())
      heaps[tool->slot] = static_cast<mstxMemHeapHandle_t>(tool->heaps.find(heap).value_or(nullptr));
  }

  Scratch<mstxMemRegionHandle_t, 16> names(out != nullptr ? count * section.tools().count : 0);
  std::array<bool, PLAT_MSTX_TOOLS_MAX> asked{}, informed{};
  for (uint32_t i = 0; i < section.tools().count; ++i) {
    Tool* const tool = section.tools().tools[i];
    asked[i] = tell<&ToolSlots::mem, MSTX_API_CORE_MEM_REGIONS_REGISTER, mstxMemRegionsRegisterFunc>(
        section.thread(), *tool, [&](Tool&, auto call) {
          mstxMemRegionsRegisterBatch_t batch = told;
          batch.heap = heaps[tool->slot];
          if (out != nullptr) batch.regionHandleArrayOut = names.data() + i * count;
          call(domain_for(*tool, place.domain), &batch);
        });
    // One that does not listen to registrations may still want to hear the rest.
    informed[i] = asked[i] ||
                  load<mstxFuncPointer>(tool->functions->mem[MSTX_API_CORE_MEM_REGIONS_REGISTER]) == nullptr;
  }

  const bool anybody = std::find(asked.begin(), asked.end(), true) != asked.end();
  std::lock_guard lock(registry_lock_);
  if (!anybody && !section.remembers()) {
    for (Handle handle : handles) registry_.drop_region(handle);
    return;
  }
  for (uint32_t i = 0; i < section.tools().count; ++i)
    for (size_t r = 0; informed[i] && r < count; ++r)
      section.tools().tools[i]->regions.set(handles[r], out != nullptr ? names[i * count + r] : nullptr);
  for (size_t r = 0; out != nullptr && r < count; ++r) {
    bool taken = section.remembers();
    for (uint32_t i = 0; i < section.tools().count; ++i) taken = taken || names[i * count + r] != nullptr;
    out[r] = taken ? to_client<mstxMemRegionHandle_t>(HandleKind::Region, handles[r]) : nullptr;
  }
}

void Broker::regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t* desc) {
  static constexpr char kCall[] = "mstxMemRegionsUnregister";
  ChangeSection section(*this);
  if (!section.memory_matters()) return;
  if (desc == nullptr || desc->refArray == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT, kCall, 0, uint64_t{0});
    return;
  }
  const size_t count = desc->refCount;
  std::unique_lock lock(registry_lock_);
  const auto place = place_of(domain, section, kCall);
  if (!place || count == 0) return;
  Refs refs(*this, section, *place, kCall, count);
  for (size_t i = 0; i < count; ++i) registry_.drop_region(refs.resolve(i, desc->refArray[i]));
  refs.translate();
  lock.unlock();
  refs.tell_tools<&ToolSlots::mem, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, mstxMemRegionsUnregisterFunc,
                  mstxMemRegionRef_t>([](const auto& one) { return one.ref; },
                                      [](auto call, mstxDomainHandle_t tool_domain, auto& list) {
                                        const mstxMemRegionsUnregisterBatch_t batch{list.size(), list.data()};
                                        call(tool_domain, &batch);
                                      });
}

void Broker::permissions_assign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t* desc) {
  static constexpr char kCall[] = "mstxMemPermissionsAssign";
  ChangeSection section(*this);
  if (!section.memory_matters()) return;
  if (desc == nullptr || desc->regionDescArray == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT, kCall, 0, uint64_t{0});
    return;
  }
  const size_t count = desc->regionCount;
  std::unique_lock lock(registry_lock_);
  const auto place = place_of(domain, section, kCall);
  if (!place || count == 0) return;
  Refs refs(*this, section, *place, kCall, count);
  for (size_t i = 0; i < count; ++i)
    if (Region* region = registry_.regions.live(refs.resolve(i, desc->regionDescArray[i].region)))
      region->permissions = desc->regionDescArray[i].flags;
  refs.translate();
  lock.unlock();
  using Desc = mstxMemPermissionsAssignRegionsDesc_t;
  refs.tell_tools<&ToolSlots::mem, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, mstxMemPermissionsAssignFunc, Desc>(
      [&](const auto& one) {
        return Desc{desc->regionDescArray[one.index].flags, one.ref};
      },
      [](auto call, mstxDomainHandle_t tool_domain, auto& list) {
        const mstxMemPermissionsAssignBatch_t batch{list.size(), list.data()};
        call(tool_domain, &batch);
      });
}

}  // namespace plat::mstx
