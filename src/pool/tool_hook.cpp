// SPDX-License-Identifier: Apache-2.0
#include "pool/tool_hook.h"

#include <plat/mstx_ext.h>

namespace plat::pool {

namespace {

mstxDomainHandle_t domain_of(void* domain) { return static_cast<mstxDomainHandle_t>(domain); }
mstxMemHeapHandle_t heap_of(void* heap) { return static_cast<mstxMemHeapHandle_t>(heap); }

mstxMemRegionRef_t reference_to(const void* address) {
  mstxMemRegionRef_t reference{};
  reference.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
  reference.pointer = address;
  return reference;
}

}  // namespace

ToolHook::ToolHook(std::string name) {
  // Domain names know letters, digits and underscores only.
  for (char& letter : name)
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
          (letter >= '0' && letter <= '9')))
      letter = '_';
  domain_ = mstxDomainCreateA(("plat_pool_" + name).c_str());
}

ToolHook::~ToolHook() {
  if (domain_ != nullptr) mstxDomainDestroy(domain_of(domain_));
}

void* ToolHook::heap_added(const void* base, uint64_t bytes, int32_t device, const std::string& name) {
  mstxMemVirtualRangeDesc_t range{static_cast<uint32_t>(device), base, bytes};
  mstxMemHeapDesc_t desc{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
  mstxMemHeapHandle_t heap = mstxMemHeapRegister(domain_of(domain_), &desc);
  // Nobody answers when nobody listens; a tool that attaches later hears of later heaps.
  if (heap == nullptr) return nullptr;
  listening_.store(true, std::memory_order_relaxed);
  platMstxMemHeapName(domain_of(domain_), heap, name.c_str());
  return heap;
}

void ToolHook::heap_removed(void* heap) {
  if (heap != nullptr) mstxMemHeapUnregister(domain_of(domain_), heap_of(heap));
}

bool ToolHook::heap_reset(void* heap) {
  return platMstxMemHeapReset(domain_of(domain_), heap_of(heap)) == PLAT_MSTX_OK;
}

void ToolHook::regions_added(void* heap, const std::vector<Region>& regions, int32_t device) {
  if (heap == nullptr || regions.empty()) return;
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  ranges.reserve(regions.size());
  for (const Region& region : regions)
    ranges.push_back({static_cast<uint32_t>(device), region.address, region.bytes});
  std::vector<mstxMemRegionHandle_t> handles(regions.size());
  mstxMemRegionsRegisterBatch_t batch{};
  batch.heap = heap_of(heap);
  batch.regionType = MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionCount = ranges.size();
  batch.regionDescArray = ranges.data();
  batch.regionHandleArrayOut = handles.data();
  mstxMemRegionsRegister(domain_of(domain_), &batch);
}

void ToolHook::regions_removed(const std::vector<const void*>& addresses) {
  if (addresses.empty()) return;
  std::vector<mstxMemRegionRef_t> references;
  references.reserve(addresses.size());
  for (const void* address : addresses) references.push_back(reference_to(address));
  mstxMemRegionsUnregisterBatch_t batch{references.size(), references.data()};
  mstxMemRegionsUnregister(domain_of(domain_), &batch);
}

void ToolHook::region_resized(void* heap, const Region& region, int32_t device) {
  const platMstxMemRegionSize_t size{reference_to(region.address), region.bytes};
  platMstxMemRegionsResizeBatch_t batch{};
  batch.structSize = sizeof batch;
  batch.regionCount = 1;
  batch.regionSizeArray = &size;
  if (platMstxMemRegionsResize(domain_of(domain_), &batch) == PLAT_MSTX_OK) return;
  regions_removed({region.address});
  regions_added(heap, {region}, device);
}

void ToolHook::regions_named(const std::vector<const void*>& addresses, const std::string& name) {
  std::vector<platMstxMemRegionName_t> names;
  names.reserve(addresses.size());
  for (const void* address : addresses) names.push_back({reference_to(address), name.c_str()});
  platMstxMemRegionsNameBatch_t batch{};
  batch.structSize = sizeof batch;
  batch.regionCount = names.size();
  batch.regionNameArray = names.data();
  platMstxMemRegionsName(domain_of(domain_), &batch);
}

void ToolHook::block_hidden(const void* block) {
  std::lock_guard guard(mutex_);
  hidden_.insert(block);
}

void ToolHook::block_gone(const void* block) {
  std::lock_guard guard(mutex_);
  hidden_.erase(block);
}

void ToolHook::piece_added(const void* piece) {
  std::lock_guard guard(mutex_);
  pieces_.insert(piece);
}

void ToolHook::pieces_removed(const std::vector<const void*>& pieces) {
  {
    std::lock_guard guard(mutex_);
    for (const void* piece : pieces) pieces_.erase(piece);
  }
  regions_removed(pieces);
}

void ToolHook::all_gone(std::vector<const void*>* live) {
  std::lock_guard guard(mutex_);
  if (live != nullptr) {
    std::erase_if(*live, [&](const void* block) { return hidden_.count(block) != 0; });
    live->insert(live->end(), pieces_.begin(), pieces_.end());
  }
  hidden_.clear();
  pieces_.clear();
}

ToolHook::Moving::Moving(const ToolHook& hook) : hook_(hook) {
  if (hook_.listening()) range_ = mstxDomainRangeStartA(domain_of(hook_.domain_), "plat:moving", nullptr);
}

ToolHook::Moving::~Moving() {
  if (range_ != 0) mstxDomainRangeEnd(domain_of(hook_.domain_), range_);
}

}  // namespace plat::pool
