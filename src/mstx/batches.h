// SPDX-License-Identifier: Apache-2.0
// Batches that refer to regions: what the four have in common, and what each tool hears of one.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "mstx/broker.h"

namespace plat::mstx {

// A batch as clients and tools know it: where its items stand, and the tool's function that takes it.
template <class Batch_, auto kCount, auto kItems, class Call_>
struct BatchKind {
  using Batch = Batch_;
  using Call = Call_;
  using Item = std::remove_cvref_t<decltype(*(std::declval<Batch>().*kItems))>;
  static constexpr bool kSaysItsSize = requires(Batch batch) { batch.structSize; };

  static mstxMemRegionRef_t& ref(Item& item) {
    if constexpr (std::is_same_v<Item, mstxMemRegionRef_t>)
      return item;
    else
      return item.region;
  }
  // The items of a client's batch; none, without an address, if it has no array or is no batch.
  static std::span<const Item> items_of(const Batch* batch) {
    if (batch == nullptr) return {};
    if constexpr (kSaysItsSize)
      if (batch->structSize < sizeof(Batch)) return {};
    return {batch->*kItems, batch->*kItems != nullptr ? batch->*kCount : 0};
  }
  // A batch to one tool, unless it is empty.
  static void tell_one(const Tool& tool, mstxDomainHandle_t domain, std::span<const Item> items,
                       std::span<const Handle> /*regions*/ = {}) {
    if (items.empty()) return;
    Batch batch{};
    if constexpr (kSaysItsSize) batch.structSize = sizeof(Batch);
    batch.*kCount = items.size();
    batch.*kItems = items.data();
    tell<Call>(tool, [&](auto call) { call(domain, &batch); });
  }
};

using Unregistered =
    BatchKind<mstxMemRegionsUnregisterBatch_t, &mstxMemRegionsUnregisterBatch_t::refCount,
              &mstxMemRegionsUnregisterBatch_t::refArray,
              ToolCall<kMem, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, mstxMemRegionsUnregisterFunc>>;
using Permissions =
    BatchKind<mstxMemPermissionsAssignBatch_t, &mstxMemPermissionsAssignBatch_t::regionCount,
              &mstxMemPermissionsAssignBatch_t::regionDescArray,
              ToolCall<kMem, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, mstxMemPermissionsAssignFunc>>;
using RegionNames = BatchKind<platMstxMemRegionsNameBatch_t, &platMstxMemRegionsNameBatch_t::regionCount,
                              &platMstxMemRegionsNameBatch_t::regionNameArray,
                              ToolCall<kExt, PLAT_MSTX_FUNC_REGIONS_NAME, platMstxRegionsNameFunc>>;
using RegionSizes = BatchKind<platMstxMemRegionsResizeBatch_t, &platMstxMemRegionsResizeBatch_t::regionCount,
                              &platMstxMemRegionsResizeBatch_t::regionSizeArray,
                              ToolCall<kExt, PLAT_MSTX_FUNC_REGIONS_RESIZE, platMstxRegionsResizeFunc>>;

// An array that lives for one call, on the stack while it is small. For plain types.
template <class T>
class Scratch {
 public:
  explicit Scratch(size_t size) : size_(size) {
    if (size > inline_.size()) heap_ = std::make_unique<T[]>(size);
  }
  T* data() { return heap_ ? heap_.get() : inline_.data(); }
  T& operator[](size_t index) { return data()[index]; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  std::array<T, 16> inline_{};
  std::unique_ptr<T[]> heap_;
};

// A reference by the tool's own name for a region, or by the pointer if it has none. Whether there is either.
inline bool refer(mstxMemRegionRef_t& ref, void* name, const Region& region) {
  ref.refType = name != nullptr ? MSTX_MEM_REGION_REF_TYPE_HANDLE : MSTX_MEM_REGION_REF_TYPE_POINTER;
  if (name != nullptr)
    ref.handle = static_cast<mstxMemRegionHandle_t>(name);
  else
    ref.pointer = region.range.ptr;
  return name != nullptr || region.described;
}

// What each tool is to hear of a batch: items with the references in its own words, and the regions that they
// stand for. Filled under the registry lock, told without.
template <class Kind>
class BatchPerTool {
 public:
  using Item = typename Kind::Item;

  BatchPerTool(size_t count, const ToolSet& tools)
      : count_(count), tools_(tools), items_(count * tools.count), regions_(count * tools.count) {}

  // To those who know the region, live or gone; to all, where there is none.
  void add(const Item& item, const Region* region, Handle live, bool in_own_words) {
    for (uint32_t tool = 0; tool < tools_.count; ++tool) {
      const size_t place = tool * count_ + counts_[tool];
      items_[place] = item;
      regions_[place] = live;
      if (region != nullptr) {
        const ToolsName name = region->names.find(*tools_.tools[tool]);
        if (!name || (in_own_words && !refer(Kind::ref(items_[place]), *name, *region))) continue;
      }
      ++counts_[tool];
    }
  }
  std::span<const Item> items(size_t tool) { return {items_.data() + tool * count_, counts_[tool]}; }
  std::span<const Handle> regions(size_t tool) { return {regions_.data() + tool * count_, counts_[tool]}; }

 private:
  size_t count_;
  const ToolSet& tools_;
  Scratch<Item> items_;
  Scratch<Handle> regions_;
  uint32_t counts_[PLAT_MSTX_TOOLS_MAX] = {};
};

}  // namespace plat::mstx
