// SPDX-License-Identifier: Apache-2.0
#include "acl/regions.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "acl/runtime.h"
#include "device/report.h"

#define MSTX_NO_IMPL
#include "plat/mstx_ext.h"

namespace plat::acl {

namespace {

using Range = mstxMemVirtualRangeDesc_t;

struct Live {
  std::mutex mutex;                      // guards what follows; a leaf
  std::map<uint64_t, uint64_t> regions;  // start and size
  std::map<uint64_t, Range> heaps;       // by the handle that the broker was given
  uint64_t next_heap = 1;
};

Live& live() {
  static auto* const state = new Live;
  return *state;
}

uint64_t start_of(const Range& range) { return va_of(range.ptr).value; }

// A region cannot be refused, so what is wrong with it is said.
void warn_of(const Result<>& result) {
  if (!result) report::raise(result.error());
}

// Each region owns its padding: neither its own nor that of the one before may reach into the next.
Result<> check_neighbours(const Range& region) {
  const auto check = [&](uint64_t start, uint64_t size, uint64_t next) {
    const auto segment = runtime().segments.at(Va{start}, size);
    return report::check_soft(
        !segment || start + segment->owned_bytes <= next, RuleId::SegmentRoom, "ptr",
        "the region of {} bytes at {:#x} owns {} bytes, the next one begins {} bytes behind its start", size,
        start, segment ? segment->owned_bytes : 0, next - start);
  };
  const std::lock_guard lock(live().mutex);
  const auto& regions = live().regions;
  const auto next = regions.upper_bound(start_of(region));
  if (next != regions.end()) PLAT_TRY(check(start_of(region), region.size, next->first));
  const auto before = regions.lower_bound(start_of(region));
  if (before == regions.begin()) return {};
  const auto& [start, size] = *std::prev(before);
  return check(start, size, start_of(region));
}

mstxMemHeapHandle_t add_heap(mstxDomainHandle_t, const mstxMemHeapDesc_t* heap) {
  const std::lock_guard lock(live().mutex);
  const uint64_t handle = live().next_heap++;
  live().heaps[handle] = *static_cast<const Range*>(heap->typeSpecificDesc);
  return reinterpret_cast<mstxMemHeapHandle_t>(handle);
}

void remove_heap(mstxDomainHandle_t, mstxMemHeapHandle_t heap) {
  const std::lock_guard lock(live().mutex);
  const auto found = live().heaps.find(reinterpret_cast<uint64_t>(heap));
  if (found == live().heaps.end()) return;
  auto& regions = live().regions;
  const uint64_t start = start_of(found->second);
  regions.erase(regions.lower_bound(start), regions.lower_bound(start + found->second.size));
  live().heaps.erase(found);
}

void add_regions(mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t* batch) {
  if (is_stale_child()) return;
  const report::CallScope scope("mstxMemRegionsRegister");
  const auto* ranges = static_cast<const Range*>(batch->regionDescArray);
  for (size_t i = 0; i < batch->regionCount; ++i) {
    const Range& region = ranges[i];
    // Its start is its handle: one is enough for both ways of taking it back.
    if (batch->regionHandleArrayOut != nullptr)
      batch->regionHandleArrayOut[i] = reinterpret_cast<mstxMemRegionHandle_t>(start_of(region));
    warn_of(runtime().segments.check(va_of(region.ptr), region.size, "ptr"));
    warn_of(check_neighbours(region));
    const std::lock_guard lock(live().mutex);
    live().regions[start_of(region)] = region.size;
  }
}

void remove_regions(mstxDomainHandle_t, const mstxMemRegionsUnregisterBatch_t* batch) {
  const std::lock_guard lock(live().mutex);
  for (size_t i = 0; i < batch->refCount; ++i) live().regions.erase(va_of(batch->refArray[i].pointer).value);
}

template <class Function>
void store(mstxFuncTable table, unsigned size, unsigned id, Function* function) {
  if (id < size && table[id] != nullptr) *table[id] = reinterpret_cast<mstxFuncPointer>(function);
}

int attach_as_tool(mstxGetModuleFuncTableFunc table_of) {
  mstxFuncTable table = nullptr;
  unsigned size = 0;
  if (table_of(MSTX_API_MODULE_CORE_MEM, &table, &size) != MSTX_SUCCESS) return MSTX_FAIL;
  store(table, size, MSTX_API_CORE_MEMHEAP_REGISTER, add_heap);
  store(table, size, MSTX_API_CORE_MEMHEAP_UNREGISTER, remove_heap);
  store(table, size, MSTX_API_CORE_MEM_REGIONS_REGISTER, add_regions);
  store(table, size, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, remove_regions);
  return MSTX_SUCCESS;
}

}  // namespace

void listen_to_regions() {
  if (!runtime().segments.are_checked()) [[likely]]
    return;
  static std::once_flag once;
  std::call_once(once, [] {
    void* library = dlopen("libms_tools_ext.so", RTLD_LAZY);
    void* symbol = library != nullptr ? dlsym(library, "platMstxGetBroker") : nullptr;
    if (symbol == nullptr)
      return report::info("no libms_tools_ext.so of Plat's: regions that pools register are not checked");
    const auto* broker = reinterpret_cast<platMstxGetBrokerFunc>(symbol)();
    if (broker->attachFunction(attach_as_tool, "plat: segments of blocks", nullptr) != PLAT_MSTX_OK)
      report::notice("regions that pools register are not checked: libms_tools_ext.so takes no more tools");
  });
}

}  // namespace plat::acl
