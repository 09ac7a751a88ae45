// SPDX-License-Identifier: Apache-2.0
// Regions, what may be done with them, and what is known about them.

#include <deque>

#include "mstx/batches.h"
#include "mstx/broker.h"

namespace plat::mstx {

using RegisterRegions = Mem<MSTX_API_CORE_MEM_REGIONS_REGISTER, mstxMemRegionsRegisterFunc>;

// A reference that stands for a region goes to the tools that were told of it, in the tool's own words. A
// pointer at which no region starts goes out as it is, and so does, to those who knew it, the handle of a
// region that is gone: tools find mistakes by them. A value that was never a handle goes nowhere.
Broker::Meaning Broker::meaning_of(const mstxMemRegionRef_t& ref, DomainMeaning where, size_t index,
                                   ChangeSection& section) {
  const uint32_t type = value_of(ref.refType);
  if (type == MSTX_MEM_REGION_REF_TYPE_POINTER) {
    const Handle region = registry_.region_at(where.domain, ref.pointer);
    if (!region) section.notice(PLAT_MSTX_NOTICE_NO_REGION_AT, ref.pointer, index);
    return {ref, registry_.regions.live(region), region, true};
  }
  if (type != MSTX_MEM_REGION_REF_TYPE_HANDLE) {
    section.notice(PLAT_MSTX_NOTICE_REF_TYPE, uint64_t{type}, index);
    return {};
  }
  const Handle handle = from_client(HandleKind::Region, ref.handle).value_or(Handle{});
  const Region* const region = registry_.regions.known(handle);
  const bool lives = registry_.regions.live(handle) != nullptr;
  if (!lives)
    section.notice(region == nullptr ? PLAT_MSTX_NOTICE_UNKNOWN_REGION : PLAT_MSTX_NOTICE_GONE_REGION,
                   ref.handle, index);
  return {ref, region, lives ? handle : Handle{}, region != nullptr};
}

template <class Item, class Change, class TellOne>
int Broker::pass_on(mstxDomainHandle_t domain, const char* call, std::span<const Item> items, Change&& change,
                    TellOne tell_one) {
  ChangeSection section(tools, call);
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  if (items.data() == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
    return PLAT_MSTX_INVALID;
  }
  BatchPerTool<Item> batches(items.size(), section.tools());
  std::unique_lock lock(registry_lock_);
  const auto where = meaning_of(domain, section);
  if (!where) return PLAT_MSTX_INVALID;
  bool all = true;
  for (size_t index = 0; index < items.size(); ++index) {
    Item item = items[index];
    const Meaning meaning = meaning_of(BatchOf<Item>::ref(item), *where, index, section);
    const bool by_pointer = value_of(meaning.ref.refType) == MSTX_MEM_REGION_REF_TYPE_POINTER;
    for (uint32_t i = 0; meaning.is_known && i < section.tools().count; ++i) {
      if (meaning.region == nullptr) {
        batches.add(i, item, meaning.ref, {});
      } else if (const auto name = meaning.region->names.find(*section.tools().tools[i])) {
        const auto ref = by_pointer ? meaning.ref : ref_to(*name, *meaning.region);
        if (ref) batches.add(i, item, *ref, meaning.live);
      }
    }
    if (meaning.live) change(meaning.live, item);
    all = all && meaning.live;
  }
  lock.unlock();
  for (uint32_t i = 0; i < section.tools().count; ++i) {
    Tool& tool = *section.tools().tools[i];
    tell_one(section.thread(), tool, domain_for(tool, where->domain), batches.items(i), batches.regions(i));
  }
  return all ? PLAT_MSTX_OK : PLAT_MSTX_INVALID;
}

namespace {

// The items of a client's batch; none, without an address, if it has no array or is no batch.
template <class Batch, class Item>
std::span<const Item> items_of(const Batch* batch, size_t Batch::*count, const Item* Batch::*items) {
  if constexpr (requires { batch->structSize; })
    if (batch != nullptr && batch->structSize < sizeof(Batch)) return {};
  if (batch == nullptr || batch->*items == nullptr) return {};
  return {batch->*items, batch->*count};
}

}  // namespace

void Broker::regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t* desc) {
  using Batch = mstxMemRegionsUnregisterBatch_t;
  pass_on(domain, "mstxMemRegionsUnregister", items_of(desc, &Batch::refCount, &Batch::refArray),
          [&](Handle region, const auto&) { registry_.drop_region(region); });
}

void Broker::permissions_assign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t* desc) {
  using Batch = mstxMemPermissionsAssignBatch_t;
  pass_on(domain, "mstxMemPermissionsAssign", items_of(desc, &Batch::regionCount, &Batch::regionDescArray),
          [&](Handle region, const auto& item) { registry_.regions.live(region)->permissions = item.flags; });
}

int Broker::regions_name(mstxDomainHandle_t domain, const platMstxMemRegionsNameBatch_t* desc) {
  using Batch = platMstxMemRegionsNameBatch_t;
  return pass_on(domain, "platMstxMemRegionsName",
                 items_of(desc, &Batch::regionCount, &Batch::regionNameArray),
                 [&](Handle region, const auto& item) {
                   registry_.regions.live(region)->set_name(text_or_empty(item.name));
                 });
}

int Broker::regions_resize(mstxDomainHandle_t domain, const platMstxMemRegionsResizeBatch_t* desc) {
  using Batch = platMstxMemRegionsResizeBatch_t;
  return pass_on(
      domain, "platMstxMemRegionsResize", items_of(desc, &Batch::regionCount, &Batch::regionSizeArray),
      [&](Handle region, const auto& item) { registry_.regions.live(region)->range.size = item.size; },
      [&](ThreadState& thread, Tool& tool, mstxDomainHandle_t its_domain, auto items, auto regions) {
        if (BatchOf<platMstxMemRegionSize_t>::Call::of(tool) != nullptr)
          return tell_batch(thread, tool, its_domain, items);
        // To one without the extension the region is gone, and another is there.
        Scratch<mstxMemRegionRef_t, 16> refs(items.size());
        for (size_t i = 0; i < items.size(); ++i) refs[i] = items[i].region;
        tell_batch(thread, tool, its_domain, std::span(refs.data(), refs.size()));
        for (const Handle region : regions) tell_again(tool, std::span(&region, 1));
      });
}

int Broker::mark_initialized(mstxDomainHandle_t domain, const platMstxMemInitializedBatch_t* desc) {
  ChangeSection section(tools, "platMstxMemMarkInitialized");
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  if (desc == nullptr || desc->structSize < sizeof(*desc) || desc->rangeArray == nullptr)
    return PLAT_MSTX_INVALID;
  std::unique_lock lock(registry_lock_);
  const auto where = meaning_of(domain, section);
  lock.unlock();
  if (!where) return PLAT_MSTX_INVALID;
  tell_all<Ext<PLAT_MSTX_FUNC_MARK_INITIALIZED, platMstxMarkInitializedFunc>>(
      section, [&](Tool& tool, auto call) { call(domain_for(tool, where->domain), desc); });
  return PLAT_MSTX_OK;
}

void Broker::regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* desc) {
  ChangeSection section(tools, "mstxMemRegionsRegister");
  if (!section.memory_matters()) return;
  if (desc == nullptr || desc->regionDescArray == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
    return;
  }
  const size_t count = desc->regionCount;
  if (count == 0) return;
  const auto* const ranges = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->regionDescArray);

  // What the tools get: the client's batch as far as the client fills it in, then with their own heap and
  // room for their own handles.
  mstxMemRegionsRegisterBatch_t told{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, count, desc->regionDescArray,
                                     nullptr};
  DomainMeaning where;
  Handle heap;
  Scratch<Handle, 16> handles(count);
  {
    std::lock_guard lock(registry_lock_);
    const auto found = meaning_of(domain, section);
    if (!found) return;
    where = *found;
    if (!where.dialect) {
      std::memcpy(&told.regionType, &desc->regionType, sizeof(told.regionType));
      told.regionHandleArrayOut = desc->regionHandleArrayOut;
      if (desc->heap != nullptr) heap = heap_of(desc->heap, section);
    }
    const bool described = value_of(told.regionType) == MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
    if (!described) section.notice(PLAT_MSTX_NOTICE_MEM_TYPE, uint64_t{value_of(told.regionType)});
    for (size_t i = 0; i < count; ++i) {
      Region region;
      region.domain = where.domain;
      region.heap = heap;
      region.described = described;
      region.by_handle = told.regionHandleArrayOut != nullptr;
      if (described) region.range = ranges[i];
      handles[i] = registry_.add_region(std::move(region));
    }
  }

  mstxMemRegionHandle_t* const out = told.regionHandleArrayOut;
  Scratch<bool, 16> taken(count);
  bool asked = false;
  for (Tool* tool : section.tools()) {
    Scratch<mstxMemRegionHandle_t, 16> names(out != nullptr ? count : 0);
    if (out != nullptr) told.regionHandleArrayOut = names.data();
    asked = tell_regions(*tool, where.domain, heap, told, handles.data()) || asked;
    for (size_t r = 0; r < names.size(); ++r) taken[r] = taken[r] || names[r] != nullptr;
  }
  const bool remembers = section.remembers();
  for (size_t r = 0; out != nullptr && (asked || remembers) && r < count; ++r)
    out[r] =
        taken[r] || remembers ? to_client<mstxMemRegionHandle_t>(HandleKind::Region, handles[r]) : nullptr;
  if (asked || remembers) return;
  std::lock_guard lock(registry_lock_);
  for (Handle handle : handles) registry_.drop_region(handle);
}

bool Broker::tell_regions(Tool& tool, Handle domain, Handle heap, mstxMemRegionsRegisterBatch_t batch,
                          const Handle* handles) {
  {
    std::lock_guard lock(registry_lock_);
    const Heap* const record = registry_.heaps.known(heap);
    const auto name = record == nullptr ? std::nullopt : record->names.find(tool);
    batch.heap = static_cast<mstxMemHeapHandle_t>(name.value_or(nullptr));
  }
  const bool told =
      tell<RegisterRegions>(this_thread(), tool, [&](auto call) { call(domain_for(tool, domain), &batch); });
  // One that does not listen to registrations may still want to hear the rest.
  if (!told && RegisterRegions::of(tool) != nullptr) return false;
  std::lock_guard lock(registry_lock_);
  for (size_t i = 0; i < batch.regionCount; ++i)
    if (Region* region = registry_.regions.known(handles[i]))
      region->names.set(tool,
                        batch.regionHandleArrayOut != nullptr ? batch.regionHandleArrayOut[i] : nullptr);
  return told;
}

void Broker::tell_again(Tool& tool, std::span<const Handle> handles) {
  std::vector<Handle> regions;
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  std::vector<mstxMemRegionHandle_t> names(handles.size(), nullptr);
  mstxMemRegionsRegisterBatch_t batch{nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 0, nullptr, nullptr};
  Handle domain, heap;
  {
    std::lock_guard lock(registry_lock_);
    for (Handle handle : handles) {
      const Region* const region = registry_.regions.live(handle);
      if (region == nullptr || !region->described) continue;
      regions.push_back(handle);
      ranges.push_back(region->range);
      domain = region->domain;
      heap = region->heap;
      if (region->by_handle) batch.regionHandleArrayOut = names.data();
    }
  }
  if (regions.empty()) return;
  batch.regionCount = ranges.size();
  batch.regionDescArray = ranges.data();
  tell_regions(tool, domain, heap, batch, regions.data());
  std::vector<mstxMemPermissionsAssignRegionsDesc_t> permissions;
  std::vector<platMstxMemRegionName_t> named;
  std::deque<std::string> texts;
  {
    std::lock_guard lock(registry_lock_);
    for (size_t i = 0; i < regions.size(); ++i) {
      const Region* const region = registry_.regions.live(regions[i]);
      if (region == nullptr) continue;
      const auto ref = ref_to(names[i], *region);
      if (region->permissions) permissions.push_back({*region->permissions, *ref});
      if (region->name != nullptr) named.push_back({*ref, texts.emplace_back(*region->name).c_str()});
    }
  }
  const mstxDomainHandle_t tool_domain = domain_for(tool, domain);
  tell_batch(this_thread(), tool, tool_domain, std::span(permissions));
  tell_batch(this_thread(), tool, tool_domain, std::span(named));
}

}  // namespace plat::mstx
