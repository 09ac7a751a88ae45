// SPDX-License-Identifier: Apache-2.0
// Heaps.

#include "mstx/batches.h"
#include "mstx/broker.h"

namespace plat::mstx {

using RegisterHeap = ToolCall<kMem, MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegisterFunc>;
using UnregisterHeap = ToolCall<kMem, MSTX_API_CORE_MEMHEAP_UNREGISTER, mstxMemHeapUnregisterFunc>;
using ResetHeap = ToolCall<kExt, PLAT_MSTX_FUNC_HEAP_RESET, platMstxHeapResetFunc>;

ToolsName tell_heap(const Tool& tool, Handle domain, const mstxMemHeapDesc_t& desc, Handle heap) {
  mstxMemHeapHandle_t answer = nullptr;
  if (!tell<RegisterHeap>(tool, [&](auto call) { answer = call(domain_for(tool, domain), &desc); }))
    return std::nullopt;
  std::lock_guard lock(Broker::get().registry_lock);
  if (Heap* record = Broker::get().registry.heaps.known(heap)) record->names.set(tool, answer);
  return answer;
}

namespace {

// A tool, and what it calls a heap and its domain.
struct HeapWords {
  const Tool& tool;
  uint32_t place;  // of the tool
  mstxDomainHandle_t domain;
  ToolsName name;

  mstxMemHeapHandle_t heap() const { return static_cast<mstxMemHeapHandle_t>(name.value_or(nullptr)); }
};

// The way of every call about a heap that was registered. change(section, heap) says, under the registry
// lock, whether it goes out to the tools; tell_one(words).
template <class Change, class TellOne>
int change_heap(const char* call, mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, Change change,
                TellOne tell_one) {
  return change_memory(call, [=](ChangeSection& section) -> int {
    const auto where = section.where(domain);
    const Handle handle = section.heap_of(heap);
    if (!where || !handle || !change(section, handle)) return PLAT_MSTX_INVALID;
    ToolsName names[PLAT_MSTX_TOOLS_MAX];
    const ToolSet& tools = section.tools;
    const Names& known = section.registry.heaps.known(handle)->names;
    for (uint32_t i = 0; i < tools.count; ++i) names[i] = known.find(*tools.tools[i]);
    section.lock.unlock();
    for (uint32_t i = 0; i < tools.count; ++i)
      tell_one(HeapWords{*tools.tools[i], i, domain_for(*tools.tools[i], where->domain), names[i]});
    return PLAT_MSTX_OK;
  });
}

}  // namespace
}  // namespace plat::mstx

using namespace plat::mstx;

mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, mstxMemHeapDesc_t const* desc) {
  if (nobody_hears_of_it()) return nullptr;
  return change_memory(__func__, [=](ChangeSection& section) -> mstxMemHeapHandle_t {
    if (desc == nullptr || desc->typeSpecificDesc == nullptr) {
      section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
      return nullptr;
    }
    const auto where = section.where(domain);
    if (!where) return nullptr;
    mstxMemHeapDesc_t told{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                           desc->typeSpecificDesc};
    if (!where->dialect) told = *desc;
    Heap heap;
    heap.domain = where->domain;
    heap.usage = value_of(told.usage);
    heap.described = value_of(told.type) == MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
    if (heap.described)
      heap.range = *static_cast<const mstxMemVirtualRangeDesc_t*>(desc->typeSpecificDesc);
    else
      section.notice(PLAT_MSTX_NOTICE_MEM_TYPE, uint64_t{value_of(told.type)});
    Registry& registry = section.registry;
    const Handle handle =
        where->dialect ? registry.news_heap(where->domain, heap.range) : registry.add_heap(std::move(heap));
    section.lock.unlock();
    if (section.is_wanted([&](const Tool& tool) { return tell_heap(tool, where->domain, told, handle); }))
      return to_client<mstxMemHeapHandle_t>(HandleKind::Heap, handle);
    section.lock.lock();
    if (!where->dialect) registry.drop_heap(handle);
    return nullptr;
  });
}

void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  if (nobody_listens()) return;
  change_heap(
      __func__, domain, heap,
      [](ChangeSection& section, Handle handle) {
        section.registry.drop_heap(handle);
        return true;
      },
      [](const HeapWords& words) {
        if (words.heap() != nullptr)
          tell<UnregisterHeap>(words.tool, [&](auto call) { call(words.domain, words.heap()); });
      });
}

int platMstxMemHeapName(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return change_heap(
      __func__, domain, heap,
      [&](ChangeSection& section, Handle handle) {
        Heap* const record = section.registry.heaps.live(handle);
        if (record != nullptr && name != nullptr) record->name = name;
        return record != nullptr && name != nullptr;
      },
      [&](const HeapWords& words) {
        if (words.name)
          tell<NameHeap>(words.tool, [&](auto call) { call(words.domain, words.heap(), name); });
      });
}

int platMstxMemHeapReset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  std::optional<BatchPerTool<Unregistered>> gone;
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return change_heap(
      __func__, domain, heap,
      [&](ChangeSection& section, Handle handle) {
        if (section.registry.heaps.live(handle) == nullptr) return false;
        const std::vector<Handle> regions = section.registry.regions_of(handle);
        gone.emplace(regions.size(), section.tools);
        for (Handle region : regions) {
          gone->add({}, section.registry.regions.live(region), region, true);
          section.registry.drop_region(region);
        }
        return true;
      },
      [&](const HeapWords& words) {
        // Those without the extension are told that the regions are gone.
        if (ResetHeap::of(words.tool) == nullptr || !words.name)
          Unregistered::tell_one(words.tool, words.domain, gone->items(words.place));
        else
          tell<ResetHeap>(words.tool, [&](auto call) { call(words.domain, words.heap()); });
      });
}
