// SPDX-License-Identifier: Apache-2.0
// Batches that refer to regions: what the four have in common, and what each tool hears of one.
#pragma once

#include <span>

#include "mstx/registry.h"
#include "mstx/scratch.h"
#include "mstx/sections.h"

namespace plat::mstx {

// Of an item: the tool's function that takes a batch of them, where its reference stands, the batch.
template <class Item>
struct BatchOf;

template <>
struct BatchOf<mstxMemRegionRef_t> {
  using Call = Mem<MSTX_API_CORE_MEM_REGIONS_UNREGISTER, mstxMemRegionsUnregisterFunc>;
  static mstxMemRegionRef_t& ref(mstxMemRegionRef_t& item) { return item; }
  static mstxMemRegionsUnregisterBatch_t make(std::span<mstxMemRegionRef_t> items) {
    return {items.size(), items.data()};
  }
};
template <>
struct BatchOf<mstxMemPermissionsAssignRegionsDesc_t> {
  using Item = mstxMemPermissionsAssignRegionsDesc_t;
  using Call = Mem<MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, mstxMemPermissionsAssignFunc>;
  static mstxMemRegionRef_t& ref(Item& item) { return item.region; }
  static mstxMemPermissionsAssignBatch_t make(std::span<Item> items) { return {items.size(), items.data()}; }
};
template <>
struct BatchOf<platMstxMemRegionName_t> {
  using Item = platMstxMemRegionName_t;
  using Call = Ext<PLAT_MSTX_FUNC_REGIONS_NAME, platMstxRegionsNameFunc>;
  static mstxMemRegionRef_t& ref(Item& item) { return item.region; }
  static platMstxMemRegionsNameBatch_t make(std::span<Item> items) {
    for (Item& item : items) item.name = text_or_empty(item.name);
    return {sizeof(platMstxMemRegionsNameBatch_t), items.size(), items.data()};
  }
};
template <>
struct BatchOf<platMstxMemRegionSize_t> {
  using Item = platMstxMemRegionSize_t;
  using Call = Ext<PLAT_MSTX_FUNC_REGIONS_RESIZE, platMstxRegionsResizeFunc>;
  static mstxMemRegionRef_t& ref(Item& item) { return item.region; }
  static platMstxMemRegionsResizeBatch_t make(std::span<Item> items) {
    return {sizeof(platMstxMemRegionsResizeBatch_t), items.size(), items.data()};
  }
};

// A batch to one tool, unless it is empty.
template <class Item>
void tell_batch(ThreadState& thread, Tool& tool, mstxDomainHandle_t domain, std::span<Item> items) {
  if (items.empty()) return;
  const auto batch = BatchOf<Item>::make(items);
  tell<typename BatchOf<Item>::Call>(thread, tool, [&](auto call) { call(domain, &batch); });
}

struct Plainly {
  void operator()(ThreadState& thread, Tool& tool, mstxDomainHandle_t domain, auto items, auto) const {
    tell_batch(thread, tool, domain, items);
  }
};

// What each tool is to hear of a batch: items with the references in its own words, and the regions that they
// stand for. Filled under the registry lock, told without.
template <class Item>
class BatchPerTool {
 public:
  BatchPerTool(size_t count, const ToolSet& tools)
      : count_(count), items_(count * tools.count), regions_(count * tools.count) {}

  void add(uint32_t tool, Item item, const mstxMemRegionRef_t& ref, Handle region) {
    BatchOf<Item>::ref(item) = ref;
    items_[tool * count_ + counts_[tool]] = item;
    regions_[tool * count_ + counts_[tool]++] = region;
  }
  std::span<Item> items(uint32_t tool) { return {items_.data() + tool * count_, counts_[tool]}; }
  std::span<Handle> regions(uint32_t tool) { return {regions_.data() + tool * count_, counts_[tool]}; }

 private:
  size_t count_;
  Scratch<Item, 16> items_;
  Scratch<Handle, 16> regions_;
  uint32_t counts_[PLAT_MSTX_TOOLS_MAX] = {};
};

// A reference by the tool's own name for a region, or by the pointer if it has none; nothing if neither.
inline std::optional<mstxMemRegionRef_t> ref_to(void* name, const Region& region) {
  mstxMemRegionRef_t ref{};
  if (name == nullptr && !region.described) return std::nullopt;
  ref.refType = name != nullptr ? MSTX_MEM_REGION_REF_TYPE_HANDLE : MSTX_MEM_REGION_REF_TYPE_POINTER;
  if (name != nullptr)
    ref.handle = static_cast<mstxMemRegionHandle_t>(name);
  else
    ref.pointer = region.range.ptr;
  return ref;
}

}  // namespace plat::mstx
