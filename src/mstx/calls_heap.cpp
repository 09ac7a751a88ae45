// SPDX-License-Identifier: Apache-2.0
// Heaps.

#include "mstx/batches.h"
#include "mstx/broker.h"

namespace plat::mstx {
namespace {

using RegisterHeap = ToolCall<kMem, MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegisterFunc>;
using UnregisterHeap = ToolCall<kMem, MSTX_API_CORE_MEMHEAP_UNREGISTER, mstxMemHeapUnregisterFunc>;
using NameHeap = ToolCall<kExt, PLAT_MSTX_FUNC_HEAP_NAME, platMstxHeapNameFunc>;
using ResetHeap = ToolCall<kExt, PLAT_MSTX_FUNC_HEAP_RESET, platMstxHeapResetFunc>;

// Tells a tool and notes its name; nothing if it was not told.
ToolsName register_at(const Tool& tool, Handle domain, const mstxMemHeapDesc_t& desc, Handle heap) {
  const ToolsName answer = tell<RegisterHeap>(tool, domain_for(tool, domain), &desc);
  if (answer) Broker::get().note(Broker::get().registry.heaps, heap, tool, *answer);
  return answer;
}

// The way of every call about a heap that was registered. change(section, handle, the heap if it lives) says,
// under the registry lock, whether it goes out; tell_one(tool, its domain, its name for the heap) does it.
template <class Change, class TellOne>
int change_heap(const char* call, mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, Change change,
                TellOne tell_one) {
  return change_memory(call, domain, [=](ChangeSection& section) -> int {
    const auto& heaps = section.registry.heaps;
    const Handle handle = section.heap_of(heap);
    if (!handle || !change(section, handle, heaps.live(handle))) return PLAT_MSTX_INVALID;
    ToolsName names[PLAT_MSTX_TOOLS_MAX];  // by slot
    for (const Tool& tool : section.tools) names[tool.slot] = heaps.known(handle)->names.find(tool);
    section.tell_each([&](const Tool& tool, mstxDomainHandle_t its_domain) {
      tell_one(tool, its_domain, names[tool.slot]);
    });
    return PLAT_MSTX_OK;
  });
}

}  // namespace

void tell_heap(const Tool& tool, Handle heap) {
  std::unique_lock lock(Broker::get().registry_lock);
  const Heap* const record = Broker::get().registry.heaps.live(heap);
  if (record == nullptr) return;
  const mstxMemVirtualRangeDesc_t range = record->range;
  mstxMemHeapDesc_t desc{{}, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
  std::memcpy(&desc.usage, &record->usage, sizeof(desc.usage));
  const Handle domain = record->domain;
  const std::string text = record->name;
  lock.unlock();
  const ToolsName name = register_at(tool, domain, desc, heap);
  if (name && !text.empty()) tell<NameHeap>(tool, domain_for(tool, domain), as_heap(name), text.c_str());
}

}  // namespace plat::mstx

using namespace plat::mstx;

mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, mstxMemHeapDesc_t const* desc) {
  return change_memory<Memory::New>(__func__, domain, [=](ChangeSection& section) {
    if (!section.has(desc != nullptr && desc->typeSpecificDesc != nullptr)) return mstxMemHeapHandle_t();
    mstxMemHeapDesc_t told{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                           desc->typeSpecificDesc};
    if (!section.dialect) told = *desc;
    Heap heap{
        .domain = section.domain, .usage = value_of(told.usage), .described = section.is_linear(told.type)};
    if (heap.described) heap.range = *static_cast<const mstxMemVirtualRangeDesc_t*>(desc->typeSpecificDesc);
    Registry& registry = section.registry;
    const Handle handle =
        section.dialect ? registry.news_heap(section.domain, heap.range) : registry.add_heap(std::move(heap));
    if (section.is_wanted([&](const Tool& tool) { return register_at(tool, section.domain, told, handle); }))
      return to_client<mstxMemHeapHandle_t>(handle);
    section.lock.lock();
    if (!section.dialect) registry.drop_heap(handle);
    return mstxMemHeapHandle_t();
  });
}

void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  change_heap(
      __func__, domain, heap,
      [](ChangeSection& section, Handle handle, Heap*) {
        section.registry.drop_heap(handle);
        return true;
      },
      [](const Tool& tool, mstxDomainHandle_t its_domain, ToolsName name) {
        if (as_heap(name) != nullptr) tell<UnregisterHeap>(tool, its_domain, as_heap(name));
      });
}

int platMstxMemHeapName(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* text) {
  return change_heap(
      __func__, domain, heap,
      [=](ChangeSection& section, Handle, Heap* record) {
        if (record == nullptr || !section.has(text != nullptr)) return false;
        record->name = text;
        return true;
      },
      [=](const Tool& tool, mstxDomainHandle_t its_domain, ToolsName name) {
        if (name) tell<NameHeap>(tool, its_domain, as_heap(name), text);
      });
}

int platMstxMemHeapReset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  std::optional<BatchPerTool<Unregistered>> gone;
  return change_heap(
      __func__, domain, heap,
      [&](ChangeSection& section, Handle handle, Heap* record) {
        if (record == nullptr) return false;
        const std::vector<Handle> regions = section.registry.regions_of(handle);
        gone.emplace(regions.size(), section.tools);
        for (Handle region : regions) {
          gone->add({}, {section.registry.regions.live(region), region});
          section.registry.drop_region(region);
        }
        return true;
      },
      [&](const Tool& tool, mstxDomainHandle_t its_domain, ToolsName name) {
        // Those without the extension are told that the regions are gone.
        if (!name || !tell<ResetHeap>(tool, its_domain, as_heap(name)))
          Unregistered::tell_one(tool, its_domain, gone->items(tool));
      });
}
