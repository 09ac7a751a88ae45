// SPDX-License-Identifier: Apache-2.0
// Batches that refer to regions: what they have in common, and what each tool hears of one.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "mstx/broker.h"

namespace plat::mstx {

// A batch as clients and tools know it: where its items stand, and the tool's function that takes it. Each
// kind has a change(registry, region, item) besides, for what it does to a region that lives.
template <class Batch_, auto kCount, auto kItems, class Call_>
struct BatchKind {
  using Batch = Batch_;
  using Call = Call_;
  using Item = std::remove_cvref_t<decltype(*(std::declval<Batch>().*kItems))>;

  static auto& ref(auto& item) {
    if constexpr (std::is_same_v<Item, mstxMemRegionRef_t>)
      return item;
    else
      return item.region;
  }
  // The items of a client's batch; none, without an address, if it has no array or is no batch.
  static std::span<const Item> items_of(const Batch* batch) {
    if (batch == nullptr) return {};
    if constexpr (requires { batch->structSize; })
      if (batch->structSize < sizeof(Batch)) return {};
    return {batch->*kItems, batch->*kItems != nullptr ? batch->*kCount : 0};
  }
  // A batch to one tool, unless it is empty.
  static void tell_one(const Tool& tool, mstxDomainHandle_t domain, std::span<const Item> items,
                       std::span<const Handle> /*regions*/ = {}) {
    if (items.empty()) return;
    Batch batch{};
    if constexpr (requires { batch.structSize; }) batch.structSize = sizeof(Batch);
    batch.*kCount = items.size();
    batch.*kItems = items.data();
    tell<Call>(tool, domain, &batch);
  }
};

struct Unregistered
    : BatchKind<mstxMemRegionsUnregisterBatch_t, &mstxMemRegionsUnregisterBatch_t::refCount,
                &mstxMemRegionsUnregisterBatch_t::refArray,
                ToolCall<kMem, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, mstxMemRegionsUnregisterFunc>> {
  static void change(Registry& registry, Handle region, const Item&) { registry.drop_region(region); }
};

// A reference by the tool's own name for a region, or by the pointer if it has none. Whether there is either.
inline bool refer(mstxMemRegionRef_t& ref, void* name, const Region& region) {
  ref.refType = name != nullptr ? MSTX_MEM_REGION_REF_TYPE_HANDLE : MSTX_MEM_REGION_REF_TYPE_POINTER;
  if (name != nullptr)
    ref.handle = static_cast<mstxMemRegionHandle_t>(name);
  else if (region.range)
    ref.pointer = region.range->ptr;
  return name != nullptr || region.range;
}

// An array that lives for one call, on the stack while it is small. For plain types.
template <class T>
class Scratch {
 public:
  explicit Scratch(size_t size) {
    if (size > inline_.size()) heap_ = std::make_unique<T[]>(size);
  }
  T* data() { return heap_ ? heap_.get() : inline_.data(); }
  T& operator[](size_t index) { return data()[index]; }

 private:
  std::array<T, 16> inline_{};
  std::unique_ptr<T[]> heap_;
};

// What each tool is to hear of a batch. A reference that stands for a region goes to the tools that were told
// of it, in the tool's own words. A pointer at which no region starts goes out as it is, and so does, to
// those who knew it, the handle of a region that is gone: tools find mistakes by them. A value that was never
// a handle goes nowhere. Filled under the registry lock, told without.
template <class Kind>
class BatchPerTool {
 public:
  using Item = typename Kind::Item;

  BatchPerTool(const ChangeSection& section, size_t count) : section_(section), count_(count) {}

  // With the region that the item refers to.
  void add(const Item& item, Handle handle) {
    const Region* const region = section_.registry.regions.known(handle);
    const bool by_pointer = value_of(Kind::ref(item).refType) == MSTX_MEM_REGION_REF_TYPE_POINTER;
    if (region == nullptr && !by_pointer) return;
    size_t first = 0;
    for (const Tool& tool : section_.tools) {
      const size_t place = first + counts_[tool.slot];
      first += count_;
      items_[place] = item;
      regions_[place] = handle;
      const ToolsName name = region != nullptr ? region->names.find(tool) : nullptr;
      if (name && (by_pointer || refer(Kind::ref(items_[place]), *name, *region))) ++counts_[tool.slot];
    }
  }
  void tell_one(const Tool& tool, mstxDomainHandle_t domain) {
    const size_t first = count_ * section_.tools.before(tool);
    const size_t count = counts_[tool.slot];
    Kind::tell_one(tool, domain, {items_.data() + first, count}, {regions_.data() + first, count});
  }

 private:
  const ChangeSection& section_;
  size_t count_;
  Scratch<Item> items_{count_ * section_.tools.count()};
  Scratch<Handle> regions_{count_ * section_.tools.count()};
  uint32_t counts_[PLAT_MSTX_TOOLS_MAX] = {};  // by slot
};

}  // namespace plat::mstx
