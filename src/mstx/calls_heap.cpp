// SPDX-License-Identifier: Apache-2.0
// Heaps.

#include "mstx/batches.h"
#include "mstx/broker.h"

namespace plat::mstx {

using RegisterHeap = Mem<MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegisterFunc>;
using NameHeap = Ext<PLAT_MSTX_FUNC_HEAP_NAME, platMstxHeapNameFunc>;
using ResetHeap = Ext<PLAT_MSTX_FUNC_HEAP_RESET, platMstxHeapResetFunc>;

Handle Broker::heap_of(mstxMemHeapHandle_t heap, ChangeSection& section) {
  const auto handle = from_client(HandleKind::Heap, heap).value_or(Handle{});
  if (registry_.heaps.live(handle) == nullptr) section.notice(PLAT_MSTX_NOTICE_UNKNOWN_HEAP, heap);
  return registry_.heaps.known(handle) != nullptr ? handle : Handle{};
}

std::optional<Broker::HeapWords> Broker::words_for(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap,
                                                   ChangeSection& section) {
  const auto where = meaning_of(domain, section);
  const Handle handle = heap_of(heap, section);
  if (!where || !handle) return std::nullopt;
  HeapWords words{*where, handle, {}};
  for (Tool* tool : section.tools())
    words.names[tool->slot] = registry_.heaps.known(handle)->names.find(*tool);
  return words;
}

mstxMemHeapHandle_t Broker::heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* desc) {
  ChangeSection section(tools, "mstxMemHeapRegister");
  if (!section.memory_matters()) return nullptr;
  if (desc == nullptr || desc->typeSpecificDesc == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
    return nullptr;
  }
  mstxMemHeapDesc_t told{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                         desc->typeSpecificDesc};
  DomainMeaning where;
  Handle handle;
  {
    std::lock_guard lock(registry_lock_);
    const auto found = meaning_of(domain, section);
    if (!found) return nullptr;
    where = *found;
    if (!where.dialect) told = *desc;
    Heap heap;
    heap.domain = where.domain;
    heap.usage = value_of(told.usage);
    heap.described = value_of(told.type) == MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
    if (heap.described)
      heap.range = *static_cast<const mstxMemVirtualRangeDesc_t*>(desc->typeSpecificDesc);
    else
      section.notice(PLAT_MSTX_NOTICE_MEM_TYPE, uint64_t{value_of(told.type)});
    handle =
        where.dialect ? registry_.news_heap(where.domain, heap.range) : registry_.add_heap(std::move(heap));
  }
  bool asked = false;
  bool taken = false;
  for (Tool* tool : section.tools()) {
    const auto answer = tell_heap(*tool, where.domain, told, handle);
    asked = asked || answer;
    taken = taken || answer.value_or(nullptr) != nullptr;
  }
  if (taken || (!asked && section.remembers()))
    return to_client<mstxMemHeapHandle_t>(HandleKind::Heap, handle);
  std::lock_guard lock(registry_lock_);
  if (!where.dialect) registry_.drop_heap(handle);
  return nullptr;
}

std::optional<mstxMemHeapHandle_t> Broker::tell_heap(Tool& tool, Handle domain, const mstxMemHeapDesc_t& desc,
                                                     Handle heap) {
  mstxMemHeapHandle_t answer = nullptr;
  const bool told = tell<RegisterHeap>(this_thread(), tool,
                                       [&](auto call) { answer = call(domain_for(tool, domain), &desc); });
  if (!told) return std::nullopt;
  std::lock_guard lock(registry_lock_);
  if (Heap* record = registry_.heaps.known(heap)) record->names.set(tool, answer);
  return answer;
}

void Broker::heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  ChangeSection section(tools, "mstxMemHeapUnregister");
  if (!section.memory_matters()) return;
  std::optional<HeapWords> words;
  {
    std::lock_guard lock(registry_lock_);
    words = words_for(domain, heap, section);
    if (!words) return;
    registry_.drop_heap(words->handle);
  }
  tell_all<Mem<MSTX_API_CORE_MEMHEAP_UNREGISTER, mstxMemHeapUnregisterFunc>>(
      section, [&](Tool& tool, auto call) {
        if (void* const name = words->names[tool.slot].value_or(nullptr))
          call(domain_for(tool, words->where.domain), static_cast<mstxMemHeapHandle_t>(name));
      });
}

int Broker::heap_name(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name) {
  ChangeSection section(tools, "platMstxMemHeapName");
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  if (name == nullptr) return PLAT_MSTX_INVALID;
  std::optional<HeapWords> words;
  {
    std::lock_guard lock(registry_lock_);
    words = words_for(domain, heap, section);
    if (!words || registry_.heaps.live(words->handle) == nullptr) return PLAT_MSTX_INVALID;
    registry_.heaps.live(words->handle)->name = name;
  }
  tell_all<NameHeap>(section, [&](Tool& tool, auto call) {
    if (const auto known = words->names[tool.slot])
      call(domain_for(tool, words->where.domain), static_cast<mstxMemHeapHandle_t>(*known), name);
  });
  return PLAT_MSTX_OK;
}

int Broker::heap_reset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  ChangeSection section(tools, "platMstxMemHeapReset");
  if (!section.memory_matters()) return PLAT_MSTX_NO_LISTENER;
  std::unique_lock lock(registry_lock_);
  const auto words = words_for(domain, heap, section);
  if (!words || registry_.heaps.live(words->handle) == nullptr) return PLAT_MSTX_INVALID;
  const std::vector<Handle> regions = registry_.regions_of(words->handle);
  const ToolSet& listeners = section.tools();
  BatchPerTool<mstxMemRegionRef_t> told(regions.size(), listeners);
  for (Handle handle : regions) {
    const Region& region = *registry_.regions.live(handle);
    for (uint32_t i = 0; i < listeners.count; ++i)
      if (const auto name = region.names.find(*listeners.tools[i]))
        if (const auto ref = ref_to(*name, region)) told.add(i, *ref, *ref, handle);
  }
  registry_.drop_regions_of(words->handle);
  lock.unlock();
  for (uint32_t i = 0; i < listeners.count; ++i) {
    Tool& tool = *listeners.tools[i];
    const mstxDomainHandle_t tool_domain = domain_for(tool, words->where.domain);
    const auto name = words->names[tool.slot];
    // Those without the extension are told that the regions are gone.
    if (ResetHeap::of(tool) == nullptr || !name)
      tell_batch(section.thread(), tool, tool_domain, told.items(i));
    else
      tell<ResetHeap>(section.thread(), tool,
                      [&](auto call) { call(tool_domain, static_cast<mstxMemHeapHandle_t>(*name)); });
  }
  return PLAT_MSTX_OK;
}

void Broker::tell_again(Tool& tool, Handle heap) {
  mstxMemVirtualRangeDesc_t range;
  mstxMemHeapDesc_t desc{{}, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
  Handle domain;
  std::string name;
  {
    std::lock_guard lock(registry_lock_);
    const Heap* const record = registry_.heaps.live(heap);
    if (record == nullptr || !record->described) return;
    range = record->range;
    std::memcpy(&desc.usage, &record->usage, sizeof(desc.usage));
    domain = record->domain;
    name = record->name;
  }
  const auto answer = tell_heap(tool, domain, desc, heap);
  if (answer && !name.empty())
    tell<NameHeap>(this_thread(), tool,
                   [&](auto call) { call(domain_for(tool, domain), *answer, name.c_str()); });
}

}  // namespace plat::mstx
