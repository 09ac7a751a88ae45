// SPDX-License-Identifier: Apache-2.0
// Heaps.

#include "mstx/refs.h"
#include "mstx/sections.h"

namespace plat::mstx {

Handle Broker::heap_of(mstxMemHeapHandle_t heap, ChangeSection& section, const char* call) {
  const auto handle = from_client(HandleKind::Heap, heap);
  if (handle && registry_.heaps.known(*handle) != nullptr) {
    if (registry_.heaps.live(*handle) == nullptr)
      section.notice(PLAT_MSTX_NOTICE_UNKNOWN_HEAP, call, 0, heap);
    return *handle;
  }
  section.notice(PLAT_MSTX_NOTICE_UNKNOWN_HEAP, call, 0, heap);
  return {};
}

mstxMemHeapHandle_t Broker::heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* desc) {
  static constexpr char kCall[] = "mstxMemHeapRegister";
  ChangeSection section(*this);
  if (!section.memory_matters()) return nullptr;
  if (desc == nullptr || desc->typeSpecificDesc == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT, kCall, 0, uint64_t{0});
    return nullptr;
  }
  mstxMemHeapDesc_t told{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                         desc->typeSpecificDesc};
  Place place;
  Handle handle;
  {
    std::lock_guard lock(registry_lock_);
    const auto found = place_of(domain, section, kCall);
    if (!found) return nullptr;
    place = *found;
    if (!place.dialect->fields_unset) told = *desc;
    Heap heap;
    heap.domain = place.domain;
    heap.usage = value_of(told.usage);
    heap.described = value_of(told.type) == MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
    if (heap.described)
      heap.range = *static_cast<const mstxMemVirtualRangeDesc_t*>(desc->typeSpecificDesc);
    else
      section.notice(PLAT_MSTX_NOTICE_MEM_TYPE, kCall, 0, uint64_t{value_of(told.type)});
    handle = place.dialect->heap_is_news ? registry_.news_heap(place.domain, heap.range)
                                         : registry_.add_heap(heap);
  }
  bool asked = false;
  bool taken = false;
  std::optional<mstxMemHeapHandle_t> answers[PLAT_MSTX_TOOLS_MAX];
  for (Tool* tool : section.tools()) {
    auto& answer = answers[tool->slot];
    const bool told_it = tell<&ToolSlots::mem, MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegisterFunc>(
        section.thread(), *tool,
        [&](Tool&, auto call) { answer = call(domain_for(*tool, place.domain), &told); });
    asked = asked || told_it;
    taken = taken || (answer && *answer != nullptr);
  }
  std::lock_guard lock(registry_lock_);
  for (Tool* tool : section.tools())
    if (answers[tool->slot]) tool->heaps.set(handle, *answers[tool->slot]);
  if (taken || (!asked && section.remembers()))
    return to_client<mstxMemHeapHandle_t>(HandleKind::Heap, handle);
  if (!place.dialect->heap_is_news) registry_.drop_heap(handle);
  return nullptr;
}

void Broker::heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  static constexpr char kCall[] = "mstxMemHeapUnregister";
  ChangeSection section(*this);
  if (!section.memory_matters()) return;
  Place place;
  std::optional<void*> names[PLAT_MSTX_TOOLS_MAX];
  {
    std::lock_guard lock(registry_lock_);
    const auto found = place_of(domain, section, kCall);
    const Handle handle = heap_of(heap, section, kCall);
    if (!found || !handle) return;
    place = *found;
    for (Tool* tool : section.tools()) names[tool->slot] = tool->heaps.find(handle);
    registry_.drop_heap(handle);
  }
  tell_all<&ToolSlots::mem, MSTX_API_CORE_MEMHEAP_UNREGISTER, mstxMemHeapUnregisterFunc>(
      section, [&](Tool& tool, auto call) {
        if (const auto name = names[tool.slot].value_or(nullptr))
          call(domain_for(tool, place.domain), static_cast<mstxMemHeapHandle_t>(name));
      });
}

}  // namespace plat::mstx
