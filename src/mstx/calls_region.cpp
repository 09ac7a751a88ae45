// SPDX-License-Identifier: Apache-2.0
// Regions, what may be done with them, and what is known about them.

#include "mstx/batches.h"
#include "mstx/broker.h"

namespace plat::mstx {

using RegisterRegions = ToolCall<kMem, MSTX_API_CORE_MEM_REGIONS_REGISTER, mstxMemRegionsRegisterFunc>;
using MarkInitialized = ToolCall<kExt, PLAT_MSTX_FUNC_MARK_INITIALIZED, platMstxMarkInitializedFunc>;

bool tell_regions(const Tool& tool, Handle domain, Handle heap, mstxMemRegionsRegisterBatch_t batch,
                  std::span<const Handle> handles) {
  std::unique_lock lock(Broker::get().registry_lock);
  Registry& registry = Broker::get().registry;
  if (const Heap* record = registry.heaps.known(heap))
    batch.heap = static_cast<mstxMemHeapHandle_t>(record->names.find(tool).value_or(nullptr));
  lock.unlock();
  const bool told = tell<RegisterRegions>(tool, [&](auto call) { call(domain_for(tool, domain), &batch); });
  // One that does not listen to registrations may still want to hear the rest.
  if (!told && RegisterRegions::of(tool) != nullptr) return false;
  lock.lock();
  for (size_t i = 0; i < handles.size(); ++i)
    if (Region* region = registry.regions.known(handles[i]))
      region->names.set(tool,
                        batch.regionHandleArrayOut != nullptr ? batch.regionHandleArrayOut[i] : nullptr);
  return told;
}

namespace {

// A client's reference, and what it means. One that stands for a region goes to the tools that were told of
// it, in the tool's own words. A pointer at which no region starts goes out as it is, and so does, to those
// who knew it, the handle of a region that is gone: tools find mistakes by them. A value that was never a
// handle goes nowhere.
struct Meaning {
  const Region* region = nullptr;
  Handle live;
  bool by_pointer = false;
  bool goes_out() const { return region != nullptr || by_pointer; }
};
Meaning meaning_of(const mstxMemRegionRef_t& ref, Handle domain, size_t index, ChangeSection& section) {
  const auto& regions = section.registry.regions;
  const uint32_t type = value_of(ref.refType);
  if (type == MSTX_MEM_REGION_REF_TYPE_POINTER) {
    const Handle region = section.registry.region_at(domain, ref.pointer);
    if (!region) section.notice(PLAT_MSTX_NOTICE_NO_REGION_AT, ref.pointer, index);
    return {regions.live(region), region, true};
  }
  if (type != MSTX_MEM_REGION_REF_TYPE_HANDLE) {
    section.notice(PLAT_MSTX_NOTICE_REF_TYPE, uint64_t{type}, index);
    return {};
  }
  const Handle handle = from_client(HandleKind::Region, ref.handle);
  const Region* const region = regions.known(handle);
  if (regions.is_live(handle)) return {region, handle};
  section.notice(region == nullptr ? PLAT_MSTX_NOTICE_UNKNOWN_REGION : PLAT_MSTX_NOTICE_GONE_REGION,
                 ref.handle, index);
  return {region, {}};
}

// The way of every batch that refers to regions, from the client to the tools. change(registry, region, item)
// notes those that live, under the registry lock; kTellOne(tool, its domain, its items, their regions) may be
// something else than the plain call.
template <class Kind, auto kTellOne = Kind::tell_one, class Change>
int change_regions(const char* call, mstxDomainHandle_t domain, const typename Kind::Batch* batch,
                   Change change) {
  return change_memory(call, [=](ChangeSection& section) -> int {
    const auto items = Kind::items_of(batch);
    if (items.data() == nullptr) {
      section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
      return PLAT_MSTX_INVALID;
    }
    BatchPerTool<Kind> told(items.size(), section.tools);
    const auto where = section.where(domain);
    if (!where) return PLAT_MSTX_INVALID;
    bool all = true;
    for (size_t index = 0; index < items.size(); ++index) {
      auto item = items[index];
      if constexpr (requires { item.name; }) item.name = text_or_empty(item.name);
      const Meaning meaning = meaning_of(Kind::ref(item), where->domain, index, section);
      if (meaning.goes_out()) told.add(item, meaning.region, meaning.live, !meaning.by_pointer);
      if (meaning.live) change(section.registry, meaning.live, item);
      all = all && meaning.live;
    }
    section.lock.unlock();
    for (uint32_t i = 0; i < section.tools.count; ++i) {
      const Tool& tool = *section.tools.tools[i];
      kTellOne(tool, domain_for(tool, where->domain), told.items(i), told.regions(i));
    }
    return all ? PLAT_MSTX_OK : PLAT_MSTX_INVALID;
  });
}
// To a tool without the extension the region is gone, and another is there.
void tell_sizes(const Tool& tool, mstxDomainHandle_t domain, std::span<const RegionSizes::Item> items,
                std::span<const Handle> regions) {
  if (RegionSizes::Call::of(tool) != nullptr) return RegionSizes::tell_one(tool, domain, items);
  std::vector<mstxMemRegionRef_t> refs;
  for (const auto& item : items) refs.push_back(item.region);
  Unregistered::tell_one(tool, domain, refs);
  for (const Handle& region : regions) tell_again(tool, {&region, 1});
}

}  // namespace

}  // namespace plat::mstx

using namespace plat::mstx;

void mstxMemRegionsUnregister(mstxDomainHandle_t domain, mstxMemRegionsUnregisterBatch_t const* desc) {
  if (nobody_listens()) return;
  change_regions<Unregistered>(__func__, domain, desc, [](Registry& registry, Handle region, const auto&) {
    registry.drop_region(region);
  });
}

void mstxMemPermissionsAssign(mstxDomainHandle_t domain, mstxMemPermissionsAssignBatch_t const* desc) {
  if (nobody_listens()) return;
  change_regions<Permissions>(__func__, domain, desc,
                              [](Registry& registry, Handle region, const auto& item) {
                                registry.regions.live(region)->permissions = item.flags;
                              });
}

int platMstxMemRegionsName(mstxDomainHandle_t domain, platMstxMemRegionsNameBatch_t const* desc) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return change_regions<RegionNames>(
      __func__, domain, desc, [](Registry& registry, Handle region, const auto& item) {
        registry.regions.live(region)->name =
            *item.name == '\0' ? nullptr : std::make_unique<std::string>(item.name);
      });
}

int platMstxMemRegionsResize(mstxDomainHandle_t domain, platMstxMemRegionsResizeBatch_t const* desc) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return change_regions<RegionSizes, tell_sizes>(__func__, domain, desc,
                                                 [](Registry& registry, Handle region, const auto& item) {
                                                   registry.regions.live(region)->range.size = item.size;
                                                 });
}

int platMstxMemMarkInitialized(mstxDomainHandle_t domain, platMstxMemInitializedBatch_t const* desc) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return change_memory(__func__, [=](ChangeSection& section) -> int {
    if (desc == nullptr || desc->structSize < sizeof(*desc) || desc->rangeArray == nullptr)
      return PLAT_MSTX_INVALID;
    const auto where = section.where(domain);
    if (!where) return PLAT_MSTX_INVALID;
    section.lock.unlock();
    tell_all<MarkInitialized>(
        section.tools, [&](const Tool& tool, auto call) { call(domain_for(tool, where->domain), desc); });
    return PLAT_MSTX_OK;
  });
}

void mstxMemRegionsRegister(mstxDomainHandle_t domain, mstxMemRegionsRegisterBatch_t const* desc) {
  if (nobody_hears_of_it()) return;
  change_memory(__func__, [=](ChangeSection& section) {
    if (desc == nullptr || desc->regionDescArray == nullptr)
      return section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
    const size_t count = desc->regionCount;
    if (count == 0) return;
    const auto where = section.where(domain);
    if (!where) return;

    // What the tools get: the client's batch as far as the client fills it in, then with their own heap and
    // room for their own handles.
    mstxMemRegionsRegisterBatch_t told{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, count, desc->regionDescArray,
                                       nullptr};
    Handle heap;
    if (!where->dialect) {
      std::memcpy(&told.regionType, &desc->regionType, sizeof(told.regionType));
      told.regionHandleArrayOut = desc->regionHandleArrayOut;
      if (desc->heap != nullptr) heap = section.heap_of(desc->heap);
    }
    const bool described = value_of(told.regionType) == MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
    if (!described) section.notice(PLAT_MSTX_NOTICE_MEM_TYPE, uint64_t{value_of(told.regionType)});
    mstxMemRegionHandle_t* const out = told.regionHandleArrayOut;
    Scratch<Handle> handles(count);
    for (size_t i = 0; i < count; ++i) {
      Region region;
      region.domain = where->domain;
      region.heap = heap;
      region.described = described;
      region.by_handle = out != nullptr;
      if (described) region.range = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->regionDescArray)[i];
      handles[i] = section.registry.add_region(std::move(region));
    }
    section.lock.unlock();

    Scratch<bool> taken(count);
    bool asked = false;
    for (const auto& tool : section.tools) {
      Scratch<mstxMemRegionHandle_t> names(out != nullptr ? count : 0);
      if (out != nullptr) told.regionHandleArrayOut = names.data();
      asked = tell_regions(*tool, where->domain, heap, told, {handles.data(), count}) || asked;
      for (size_t r = 0; r < names.size(); ++r) taken[r] = taken[r] || names[r] != nullptr;
    }
    const bool remembers = section.broker.tools.remembers();
    if (!asked && !remembers) {
      section.lock.lock();
      for (size_t r = 0; r < count; ++r) section.registry.drop_region(handles[r]);
      return;
    }
    for (size_t r = 0; out != nullptr && r < count; ++r)
      out[r] =
          taken[r] || remembers ? to_client<mstxMemRegionHandle_t>(HandleKind::Region, handles[r]) : nullptr;
  });
}
