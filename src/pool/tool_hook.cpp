#include "pool/tool_hook.h"

#include <utility>

#include "pool/space.h"

#if __has_include(<mstx/ms_tools_ext.h>)
#include <mstx/ms_tools_ext.h>
#define PLAT_POOL_HAS_MSTX 1
#endif

namespace plat::pool {

#ifdef PLAT_POOL_HAS_MSTX

ToolHook::ToolHook(std::string name) {
  // Domain names know letters, digits and underscores only.
  for (char& letter : name)
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
          (letter >= '0' && letter <= '9')))
      letter = '_';
  domain_ = mstxDomainCreateA(("plat_pool_" + name).c_str());
}

ToolHook::~ToolHook() {
  if (domain_ != nullptr) mstxDomainDestroy(static_cast<mstxDomainHandle_t>(domain_));
}

void ToolHook::space_added(Space& space, int32_t device) {
  mstxMemVirtualRangeDesc_t range{static_cast<uint32_t>(device), space.base, space.bytes};
  mstxMemHeapDesc_t heap{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
  space.tool_heap = mstxMemHeapRegister(static_cast<mstxDomainHandle_t>(domain_), &heap);
  // Nobody answers when nobody listens; a tool cannot attach later either.
  if (space.tool_heap != nullptr) listening_ = true;
}

void ToolHook::space_removed(Space& space) {
  if (space.tool_heap == nullptr) return;
  mstxMemHeapUnregister(static_cast<mstxDomainHandle_t>(domain_),
                        static_cast<mstxMemHeapHandle_t>(space.tool_heap));
  space.tool_heap = nullptr;
}

void ToolHook::block_added(Space& space, const void* address, uint64_t bytes, int32_t device) {
  if (space.tool_heap == nullptr) return;
  mstxMemVirtualRangeDesc_t range{static_cast<uint32_t>(device), address, bytes};
  mstxMemRegionHandle_t region = nullptr;
  mstxMemRegionsRegisterBatch_t batch{};
  batch.heap = static_cast<mstxMemHeapHandle_t>(space.tool_heap);
  batch.regionType = MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionCount = 1;
  batch.regionDescArray = &range;
  batch.regionHandleArrayOut = &region;
  mstxMemRegionsRegister(static_cast<mstxDomainHandle_t>(domain_), &batch);
}

void ToolHook::block_removed(const void* address) {
  mstxMemRegionRef_t reference{};
  reference.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
  reference.pointer = address;
  mstxMemRegionsUnregisterBatch_t batch{1, &reference};
  mstxMemRegionsUnregister(static_cast<mstxDomainHandle_t>(domain_), &batch);
}

ToolHook::Moving::Moving(const ToolHook& hook) : hook_(hook) {
  if (hook_.listening_)
    range_ = mstxDomainRangeStartA(static_cast<mstxDomainHandle_t>(hook_.domain_), "plat:moving", nullptr);
}

ToolHook::Moving::~Moving() {
  if (hook_.listening_) mstxDomainRangeEnd(static_cast<mstxDomainHandle_t>(hook_.domain_), range_);
}

void ToolHook::blocks_removed(const std::vector<const void*>& addresses) {
  if (addresses.empty()) return;
  std::vector<mstxMemRegionRef_t> references(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    references[i].refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
    references[i].pointer = addresses[i];
  }
  mstxMemRegionsUnregisterBatch_t batch{references.size(), references.data()};
  mstxMemRegionsUnregister(static_cast<mstxDomainHandle_t>(domain_), &batch);
}

#else

ToolHook::Moving::Moving(const ToolHook& hook) : hook_(hook) {}
ToolHook::Moving::~Moving() = default;
ToolHook::ToolHook(std::string name) { std::ignore = name; }
ToolHook::~ToolHook() = default;
void ToolHook::space_added(Space&, int32_t) {}
void ToolHook::space_removed(Space&) {}
void ToolHook::block_added(Space&, const void*, uint64_t, int32_t) {}
void ToolHook::block_removed(const void*) {}
void ToolHook::blocks_removed(const std::vector<const void*>&) {}

#endif

}  // namespace plat::pool
