// SPDX-License-Identifier: Apache-2.0
// Domains and heaps: one handle each, whatever each tool calls it.

#include "mstx/batches.h"
#include "mstx/broker.h"
#include "mstx/log.h"

namespace plat::mstx {
namespace {

using CreateDomain = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateAFunc>;
using DestroyDomain = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_DESTROY, mstxDomainDestroyFunc>;
using RegisterHeap = ToolCall<kMem, MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegisterFunc>;
using UnregisterHeap = ToolCall<kMem, MSTX_API_CORE_MEMHEAP_UNREGISTER, mstxMemHeapUnregisterFunc>;
using NameHeap = ToolCall<kExt, PLAT_MSTX_FUNC_HEAP_NAME, platMstxHeapNameFunc>;
using ResetHeap = ToolCall<kExt, PLAT_MSTX_FUNC_HEAP_RESET, platMstxHeapResetFunc>;

// Notes what a tool calls a domain or heap.
template <class Table>
void note(Table& table, Handle thing, const Tool& tool, void* name) {
  const std::lock_guard lock(Broker::get().registry_lock);
  if (auto* record = table.known(thing)) record->names.set(tool, name);
}

// Tells a tool and notes its name; nothing if it was not told.
ToolsName register_at(const Tool& tool, Handle domain, const mstxMemHeapDesc_t& desc, Handle heap) {
  const ToolsName answer = tell<RegisterHeap>(tool, domain_for(tool, domain), &desc);
  if (answer) note(Broker::get().registry.heaps, heap, tool, *answer);
  return answer;
}

// Offers a new thing to the tools, and says whether the client gets a handle: when a tool took it, or when
// nobody was asked and the broker remembers. Where every tool that was asked said NULL the client gets NULL,
// as it would have from that tool alone. offer(tool) is its name for the thing, nothing if it was not asked.
template <class Offer>
bool is_wanted(ChangeSection& section, Offer&& offer) {
  section.lock.unlock();
  bool asked = false;
  bool taken = false;
  for (const Tool& tool : section.tools) {
    const ToolsName answer = offer(tool);
    asked = asked || answer;
    taken = taken || answer.value_or(nullptr) != nullptr;
  }
  return section.is_known(asked) && (taken || !asked);
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

ToolsName tell_domain(const Tool& tool, const char* name, Handle domain) {
  const ToolsName answer = tell<CreateDomain>(tool, name);
  // To one that knows no domains, what is in this one is global.
  if (answer || CreateDomain::of(tool) == nullptr)
    note(Broker::get().registry.domains, domain, tool, answer.value_or(nullptr));
  return answer;
}

void tell_heap(const Tool& tool, Handle heap) {
  std::unique_lock lock(Broker::get().registry_lock);
  const Heap* const record = Broker::get().registry.heaps.live(heap);
  if (record == nullptr) return;
  const mstxMemVirtualRangeDesc_t range = *record->range;
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

mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  return change(nobody_hears_of_it(), __func__, [=](ChangeSection& section) -> mstxDomainHandle_t {
    if (!section.has(name != nullptr)) return nullptr;
    section.lock.lock();
    const Handle handle = section.registry.create_domain(name);
    if (!handle) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true))
        warn("{} domains live; no more are created", section.registry.domains.kCapacity);
      return nullptr;
    }
    // A dialect is known by its domain, so such a client gets one even from tools that know none.
    const bool dialect = section.registry.domains.live(handle)->dialect;
    const bool wanted = is_wanted(section, [&](const Tool& tool) {
      const ToolsName known = section.registry.name_of(handle, tool);
      // One that said NULL before is asked again: it may have been switched on since.
      return known.value_or(nullptr) != nullptr ? known : tell_domain(tool, name, handle);
    });
    if (wanted || dialect) return to_client<mstxDomainHandle_t>(handle);
    section.lock.lock();
    section.registry.destroy_domain(handle);
    return nullptr;
  });
}

void mstxDomainDestroy(mstxDomainHandle_t domain) {
  change(nobody_listens(), __func__, [=](ChangeSection& section) {
    // Others who created it under the same name still use it.
    if (!section.open(domain) || !section.registry.destroy_domain(section.domain)) return;
    section.tell_each([](const Tool& tool, mstxDomainHandle_t its_domain) {
      if (its_domain != nullptr) tell<DestroyDomain>(tool, its_domain);
    });
  });
}

mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, mstxMemHeapDesc_t const* desc) {
  return change_memory<Memory::New>(__func__, domain, [=](ChangeSection& section) {
    if (!section.has(desc != nullptr && desc->typeSpecificDesc != nullptr)) return mstxMemHeapHandle_t();
    mstxMemHeapDesc_t told{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                           desc->typeSpecificDesc};
    if (!section.dialect) told = *desc;
    Heap heap{.domain = section.domain, .usage = value_of(told.usage)};
    if (const auto* const range = section.ranges(told.type, told.typeSpecificDesc)) heap.range = *range;
    Registry& registry = section.registry;
    const Handle handle = section.dialect ? registry.news_heap(section.domain, *heap.range)
                                          : registry.add_heap(std::move(heap));
    if (is_wanted(section, [&](const Tool& tool) { return register_at(tool, section.domain, told, handle); }))
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
        gone.emplace(section, regions.size());
        for (Handle region : regions) {
          gone->add({MSTX_MEM_REGION_REF_TYPE_HANDLE, {}}, region);
          section.registry.drop_region(region);
        }
        return true;
      },
      [&](const Tool& tool, mstxDomainHandle_t its_domain, ToolsName name) {
        // Those without the extension are told that the regions are gone.
        if (!name || !tell<ResetHeap>(tool, its_domain, as_heap(name))) gone->tell_one(tool, its_domain);
      });
}
