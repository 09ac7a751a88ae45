// What mstx itself does not have, and how a tool that does not know it hears of it.

#include "mstx/refs.h"
#include "mstx/scratch.h"
#include "mstx/sections.h"

namespace plat::mstx {
namespace {

// Those without the extension are told that the regions are gone.
void unregister_at(ThreadState& thread, Tool& tool, mstxDomainHandle_t domain,
                   std::span<Refs::Translated> refs) {
  if (refs.empty()) return;
  tell<&ToolSlots::mem, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, mstxMemRegionsUnregisterFunc>(
      thread, tool, [&](Tool&, auto call) {
        Scratch<mstxMemRegionRef_t, 16> list(refs.size());
        for (size_t r = 0; r < refs.size(); ++r) list[r] = refs[r].ref;
        const mstxMemRegionsUnregisterBatch_t batch{list.size(), list.data()};
        call(domain, &batch);
      });
}

mstxMemRegionRef_t ref_to(Handle handle) {
  mstxMemRegionRef_t ref{};
  ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
  ref.handle = to_client<mstxMemRegionHandle_t>(HandleKind::Region, handle);
  return ref;
}

template <int Id>
bool knows(const Tool& tool) {
  return load<mstxFuncPointer>(tool.functions->ext[Id]) != nullptr;
}

}  // namespace

int Broker::heap_name(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name) {
  static constexpr char kCall[] = "platMstxMemHeapName";
  ChangeSection section(*this);
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  if (name == nullptr) return PLAT_MSTX_INVALID;
  Place place;
  std::optional<void*> names[PLAT_MSTX_TOOLS_MAX];
  {
    std::lock_guard lock(registry_lock_);
    const auto found = place_of(domain, section, kCall);
    const Handle handle = heap_of(heap, section, kCall);
    if (!found || registry_.heaps.live(handle) == nullptr) return PLAT_MSTX_INVALID;
    place = *found;
    registry_.name_heap(handle, name);
    for (Tool* tool : section.tools()) names[tool->slot] = tool->heaps.find(handle);
  }
  tell_all<&ToolSlots::ext, PLAT_MSTX_FUNC_HEAP_NAME, platMstxHeapNameFunc>(
      section, [&](Tool& tool, auto call) {
        if (const auto known = names[tool.slot])
          call(domain_for(tool, place.domain), static_cast<mstxMemHeapHandle_t>(*known), name);
      });
  return PLAT_MSTX_OK;
}

int Broker::heap_reset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  static constexpr char kCall[] = "platMstxMemHeapReset";
  ChangeSection section(*this);
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  std::unique_lock lock(registry_lock_);
  const auto place = place_of(domain, section, kCall);
  const Handle handle = heap_of(heap, section, kCall);
  if (!place || registry_.heaps.live(handle) == nullptr) return PLAT_MSTX_INVALID;
  const std::vector<Handle> regions = registry_.regions_of(handle);
  Refs refs(*this, section, *place, kCall, regions.size());
  for (size_t i = 0; i < regions.size(); ++i) refs.resolve(i, ref_to(regions[i]));
  refs.translate();
  std::optional<void*> names[PLAT_MSTX_TOOLS_MAX];
  for (Tool* tool : section.tools()) names[tool->slot] = tool->heaps.find(handle);
  registry_.drop_regions_of(handle);
  lock.unlock();
  for (uint32_t i = 0; i < section.tools().count; ++i) {
    Tool& tool = *section.tools().tools[i];
    const mstxDomainHandle_t tool_domain = domain_for(tool, place->domain);
    if (!knows<PLAT_MSTX_FUNC_HEAP_RESET>(tool) || !names[tool.slot]) {
      unregister_at(section.thread(), tool, tool_domain, refs.for_tool(i));
      continue;
    }
    tell<&ToolSlots::ext, PLAT_MSTX_FUNC_HEAP_RESET, platMstxHeapResetFunc>(
        section.thread(), tool,
        [&](Tool&, auto call) { call(tool_domain, static_cast<mstxMemHeapHandle_t>(*names[tool.slot])); });
  }
  return PLAT_MSTX_OK;
}

int Broker::regions_name(mstxDomainHandle_t domain, const platMstxMemRegionsNameBatch_t* desc) {
  static constexpr char kCall[] = "platMstxMemRegionsName";
  ChangeSection section(*this);
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  if (desc == nullptr || desc->structSize < sizeof(*desc) || desc->regionNameArray == nullptr)
    return PLAT_MSTX_INVALID;
  const size_t count = desc->regionCount;
  bool all = true;
  std::unique_lock lock(registry_lock_);
  const auto place = place_of(domain, section, kCall);
  if (!place) return PLAT_MSTX_INVALID;
  Refs refs(*this, section, *place, kCall, count);
  for (size_t i = 0; i < count; ++i) {
    const Handle region = refs.resolve(i, desc->regionNameArray[i].region);
    all = all && region;
    if (region) registry_.name_region(region, text_or_empty(desc->regionNameArray[i].name));
  }
  refs.translate();
  lock.unlock();
  using Name = platMstxMemRegionName_t;
  refs.tell_tools<&ToolSlots::ext, PLAT_MSTX_FUNC_REGIONS_NAME, platMstxRegionsNameFunc, Name>(
      [&](const auto& one) {
        return Name{one.ref, text_or_empty(desc->regionNameArray[one.index].name)};
      },
      [](auto call, mstxDomainHandle_t tool_domain, auto& list) {
        const platMstxMemRegionsNameBatch_t batch{sizeof(batch), list.size(), list.data()};
        call(tool_domain, &batch);
      });
  return all ? PLAT_MSTX_OK : PLAT_MSTX_INVALID;
}

int Broker::regions_resize(mstxDomainHandle_t domain, const platMstxMemRegionsResizeBatch_t* desc) {
  static constexpr char kCall[] = "platMstxMemRegionsResize";
  ChangeSection section(*this);
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  if (desc == nullptr || desc->structSize < sizeof(*desc) || desc->regionSizeArray == nullptr)
    return PLAT_MSTX_INVALID;
  const size_t count = desc->regionCount;
  bool all = true;
  std::unique_lock lock(registry_lock_);
  const auto place = place_of(domain, section, kCall);
  if (!place) return PLAT_MSTX_INVALID;
  Refs refs(*this, section, *place, kCall, count);
  for (size_t i = 0; i < count; ++i) {
    Region* const region = registry_.regions.live(refs.resolve(i, desc->regionSizeArray[i].region));
    if (region != nullptr) region->range.size = desc->regionSizeArray[i].size;
    all = all && region != nullptr;
  }
  refs.translate();
  lock.unlock();
  for (uint32_t i = 0; i < section.tools().count; ++i) {
    Tool& tool = *section.tools().tools[i];
    const auto translated = refs.for_tool(i);
    if (translated.empty()) continue;
    const mstxDomainHandle_t tool_domain = domain_for(tool, place->domain);
    if (!knows<PLAT_MSTX_FUNC_REGIONS_RESIZE>(tool)) {
      unregister_at(section.thread(), tool, tool_domain, translated);
      for (const auto& ref : translated)
        if (const Handle region = refs.region(ref.index)) tell_regions(tool, std::span(&region, 1));
      continue;
    }
    using Size = platMstxMemRegionSize_t;
    refs.tell_tool<&ToolSlots::ext, PLAT_MSTX_FUNC_REGIONS_RESIZE, platMstxRegionsResizeFunc, Size>(
        i,
        [&](const auto& one) {
          return Size{one.ref, desc->regionSizeArray[one.index].size};
        },
        [](auto call, mstxDomainHandle_t its_domain, auto& list) {
          const platMstxMemRegionsResizeBatch_t batch{sizeof(batch), list.size(), list.data()};
          call(its_domain, &batch);
        });
  }
  return all ? PLAT_MSTX_OK : PLAT_MSTX_INVALID;
}

int Broker::mark_initialized(mstxDomainHandle_t domain, const platMstxMemInitializedBatch_t* desc) {
  static constexpr char kCall[] = "platMstxMemMarkInitialized";
  ChangeSection section(*this);
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  if (desc == nullptr || desc->structSize < sizeof(*desc) || desc->rangeArray == nullptr)
    return PLAT_MSTX_INVALID;
  Place place;
  {
    std::lock_guard lock(registry_lock_);
    const auto found = place_of(domain, section, kCall);
    if (!found) return PLAT_MSTX_INVALID;
    place = *found;
  }
  tell_all<&ToolSlots::ext, PLAT_MSTX_FUNC_MARK_INITIALIZED, platMstxMarkInitializedFunc>(
      section, [&](Tool& tool, auto call) { call(domain_for(tool, place.domain), desc); });
  return PLAT_MSTX_OK;
}

}  // namespace plat::mstx
