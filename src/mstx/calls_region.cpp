// SPDX-License-Identifier: Apache-2.0
// Regions, what may be done with them, and what is known about them.

#include <algorithm>
#include <deque>

#include "mstx/batches.h"
#include "mstx/broker.h"

namespace plat::mstx {
namespace {

using RegisterRegions = ToolCall<kMem, MSTX_API_CORE_MEM_REGIONS_REGISTER, mstxMemRegionsRegisterFunc>;
using MarkInitialized = ToolCall<kExt, PLAT_MSTX_FUNC_MARK_INITIALIZED, platMstxMarkInitializedFunc>;

// Tells a tool and notes its names. Whether it was told.
bool register_at(const Tool& tool, Handle domain, Handle heap, mstxMemRegionsRegisterBatch_t batch,
                 const Handle* handles) {
  std::unique_lock lock(Broker::get().registry_lock);
  Registry& registry = Broker::get().registry;
  const Heap* const record = registry.heaps.known(heap);
  batch.heap = record != nullptr ? as_heap(record->names.find(tool)) : nullptr;
  lock.unlock();
  const bool told = tell<RegisterRegions>(tool, domain_for(tool, domain), &batch);
  // One that does not listen to registrations may still want to hear the rest.
  if (!told && RegisterRegions::of(tool) != nullptr) return false;
  const mstxMemRegionHandle_t* const names = batch.regionHandleArrayOut;
  lock.lock();
  for (size_t i = 0; i < batch.regionCount; ++i)
    if (Region* region = registry.regions.known(handles[i]))
      region->names.set(tool, names != nullptr ? names[i] : nullptr);
  return told;
}

struct Permissions
    : BatchKind<mstxMemPermissionsAssignBatch_t, &mstxMemPermissionsAssignBatch_t::regionCount,
                &mstxMemPermissionsAssignBatch_t::regionDescArray,
                ToolCall<kMem, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, mstxMemPermissionsAssignFunc>> {
  static void change(Registry& registry, Handle region, const Item& item) {
    registry.regions.live(region)->permissions = item.flags;
  }
};

struct RegionNames : BatchKind<platMstxMemRegionsNameBatch_t, &platMstxMemRegionsNameBatch_t::regionCount,
                               &platMstxMemRegionsNameBatch_t::regionNameArray,
                               ToolCall<kExt, PLAT_MSTX_FUNC_REGIONS_NAME, platMstxRegionsNameFunc>> {
  static void change(Registry& registry, Handle region, const Item& item) {
    registry.regions.live(region)->name =
        *item.name == '\0' ? nullptr : std::make_unique<std::string>(item.name);
  }
};

struct RegionSizes : BatchKind<platMstxMemRegionsResizeBatch_t, &platMstxMemRegionsResizeBatch_t::regionCount,
                               &platMstxMemRegionsResizeBatch_t::regionSizeArray,
                               ToolCall<kExt, PLAT_MSTX_FUNC_REGIONS_RESIZE, platMstxRegionsResizeFunc>> {
  static void change(Registry& registry, Handle region, const Item& item) {
    if (auto& range = registry.regions.live(region)->range) range->size = item.size;
  }
  // To a tool without the extension the region is gone, and another is there.
  static void tell_one(const Tool& tool, mstxDomainHandle_t domain, std::span<const Item> items,
                       std::span<const Handle> regions) {
    if (Call::of(tool) != nullptr) return BatchKind::tell_one(tool, domain, items);
    std::vector<mstxMemRegionRef_t> refs;
    for (const Item& item : items) refs.push_back(item.region);
    Unregistered::tell_one(tool, domain, refs);
    for (const Handle& region : regions) tell_regions(tool, {&region, 1});
  }
};

// The region that a client's reference means.
Handle meaning_of(const mstxMemRegionRef_t& ref, size_t index, ChangeSection& section) {
  const auto& regions = section.registry.regions;
  const uint32_t type = value_of(ref.refType);
  if (type == MSTX_MEM_REGION_REF_TYPE_POINTER) {
    const Handle region = section.registry.region_at(section.domain, ref.pointer);
    if (!region) section.notice(PLAT_MSTX_NOTICE_NO_REGION_AT, ref.pointer, index);
    return region;
  }
  if (type != MSTX_MEM_REGION_REF_TYPE_HANDLE) {
    section.notice(PLAT_MSTX_NOTICE_REF_TYPE, uint64_t{type}, index);
    return {};
  }
  const Handle handle = from_client(ref.handle);
  if (regions.is_live(handle)) return handle;
  const bool gone = regions.known(handle) != nullptr;
  section.notice(gone ? PLAT_MSTX_NOTICE_GONE_REGION : PLAT_MSTX_NOTICE_UNKNOWN_REGION, ref.handle, index);
  return handle;
}

// The way of every batch that refers to regions, from the client to the tools.
template <class Kind>
int change_regions(const char* call, mstxDomainHandle_t domain, const typename Kind::Batch* batch) {
  return change_memory(call, domain, [=](ChangeSection& section) -> int {
    const auto items = Kind::items_of(batch);
    if (!section.has(items.data() != nullptr)) return PLAT_MSTX_INVALID;
    BatchPerTool<Kind> told(section, items.size());
    bool all = true;
    for (size_t index = 0; index < items.size(); ++index) {
      auto item = items[index];
      if constexpr (requires { item.name; }) item.name = text_or_empty(item.name);
      const Handle region = meaning_of(Kind::ref(item), index, section);
      told.add(item, region);
      const bool lives = section.registry.regions.is_live(region);
      if (lives) Kind::change(section.registry, region, item);
      all = all && lives;
    }
    section.tell_each(
        [&](const Tool& tool, mstxDomainHandle_t its_domain) { told.tell_one(tool, its_domain); });
    return all ? PLAT_MSTX_OK : PLAT_MSTX_INVALID;
  });
}

}  // namespace

size_t tell_regions(const Tool& tool, std::span<const Handle> regions) {
  constexpr size_t kBatch = 256;
  std::unique_lock lock(Broker::get().registry_lock);
  const auto& live = Broker::get().registry.regions;
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  const Region* first = nullptr;
  for (const Handle handle : regions.first(std::min(regions.size(), kBatch))) {
    const Region* const region = live.live(handle);
    if (region == nullptr || !region->range) break;
    if (first == nullptr) first = region;
    // Those of one domain and one heap, all with a handle or all without.
    if (region->domain != first->domain || region->heap != first->heap ||
        region->by_handle != first->by_handle)
      break;
    ranges.push_back(*region->range);
  }
  if (first == nullptr) return 1;  // it went meanwhile, or cannot be told
  const Handle domain = first->domain;
  const Handle heap = first->heap;
  std::vector<mstxMemRegionHandle_t> names(ranges.size());
  const mstxMemRegionsRegisterBatch_t batch{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, ranges.size(),
                                            ranges.data(), first->by_handle ? names.data() : nullptr};
  lock.unlock();
  register_at(tool, domain, heap, batch, regions.data());

  std::vector<Permissions::Item> permissions;
  std::vector<RegionNames::Item> named;
  std::deque<std::string> texts;
  lock.lock();
  for (size_t i = 0; i < names.size(); ++i) {
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
  return names.size();
}

}  // namespace plat::mstx

using namespace plat::mstx;

void mstxMemRegionsUnregister(mstxDomainHandle_t domain, mstxMemRegionsUnregisterBatch_t const* desc) {
  change_regions<Unregistered>(__func__, domain, desc);
}

void mstxMemPermissionsAssign(mstxDomainHandle_t domain, mstxMemPermissionsAssignBatch_t const* desc) {
  change_regions<Permissions>(__func__, domain, desc);
}

int platMstxMemRegionsName(mstxDomainHandle_t domain, platMstxMemRegionsNameBatch_t const* desc) {
  return change_regions<RegionNames>(__func__, domain, desc);
}

int platMstxMemRegionsResize(mstxDomainHandle_t domain, platMstxMemRegionsResizeBatch_t const* desc) {
  return change_regions<RegionSizes>(__func__, domain, desc);
}

int platMstxMemMarkInitialized(mstxDomainHandle_t domain, platMstxMemInitializedBatch_t const* desc) {
  return change_memory(__func__, domain, [=](ChangeSection& section) -> int {
    if (desc == nullptr || desc->structSize < sizeof(*desc) || desc->rangeArray == nullptr)
      return PLAT_MSTX_INVALID;
    section.tell_each([&](const Tool& tool, mstxDomainHandle_t its_domain) {
      tell<MarkInitialized>(tool, its_domain, desc);
    });
    return PLAT_MSTX_OK;
  });
}

void mstxMemRegionsRegister(mstxDomainHandle_t domain, mstxMemRegionsRegisterBatch_t const* desc) {
  change_memory<Memory::New>(__func__, domain, [=](ChangeSection& section) {
    if (!section.has(desc != nullptr && desc->regionDescArray != nullptr) || desc->regionCount == 0) return;
    const size_t count = desc->regionCount;
    // What the tools get: the client's batch as far as the client fills it in, then with their own heap and
    // room for their own handles.
    mstxMemRegionsRegisterBatch_t told{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, count, desc->regionDescArray,
                                       nullptr};
    if (!section.dialect) told = *desc;
    const Handle heap = told.heap != nullptr ? section.heap_of(told.heap) : Handle{};
    const auto* const ranges = section.ranges(told.regionType, told.regionDescArray);
    mstxMemRegionHandle_t* const out = told.regionHandleArrayOut;
    Scratch<Handle> handles(count);
    Scratch<bool> taken(count);
    Scratch<mstxMemRegionHandle_t> names(out != nullptr ? count : 0);
    if (out != nullptr) told.regionHandleArrayOut = names.data();
    const auto drop_all = [&] {
      for (size_t i = 0; i < count; ++i) section.registry.drop_region(handles[i]);
    };
    try {
      for (size_t i = 0; i < count; ++i) {
        Region region{.domain = section.domain, .heap = heap, .by_handle = out != nullptr};
        if (ranges != nullptr) region.range = ranges[i];
        handles[i] = section.registry.add_region(std::move(region));
      }
    } catch (const std::bad_alloc&) {
      drop_all();
      throw;
    }
    section.lock.unlock();

    bool asked = false;
    for (const Tool& tool : section.tools) {
      if (out != nullptr) std::fill_n(names.data(), count, nullptr);
      asked = register_at(tool, section.domain, heap, told, handles.data()) || asked;
      for (size_t r = 0; out != nullptr && r < count; ++r) taken[r] = taken[r] || names[r] != nullptr;
    }
    if (!section.is_known(asked)) {
      section.lock.lock();
      return drop_all();
    }
    const bool remembers = section.broker.tools.remembers();
    for (size_t r = 0; out != nullptr && r < count; ++r)
      out[r] = taken[r] || remembers ? to_client<mstxMemRegionHandle_t>(handles[r]) : nullptr;
  });
}
