// SPDX-License-Identifier: Apache-2.0
#include "mstx/registry.h"

#include <new>

#include "base/mstx_dialects.h"

namespace plat::mstx {

namespace {
template <class Table, class Record>
Handle add(Table& table, Record record) {
  const Handle handle = table.take();
  if (!handle) throw std::bad_alloc();
  table.at(handle.index) = std::move(record);
  return handle;
}
}  // namespace

Handle Registry::create_domain(const std::string& name) {
  const auto place = by_name_.try_emplace(name).first;
  if (!place->second) {  // new, or memory ran out below when it was
    const Handle handle = place->second = domains.take();
    if (!handle) {
      by_name_.erase(place);
      return {};
    }
    Domain& domain = domains.at(handle.index);
    domain.name = &place->first;
    domain.dialect = speaks_dialect(name);
    domain.names.clear();
  }
  ++domains.at(place->second.index).references;
  return place->second;
}

bool Registry::destroy_domain(Handle handle) {
  Domain* domain = domains.live(handle);
  if (domain == nullptr || --domain->references != 0) return false;
  heaps.for_each_live([&](Handle heap, Heap& record) {
    if (record.domain == handle) drop_heap(heap);
  });
  regions.for_each_live([&](Handle region, Region& record) {
    if (record.domain == handle) drop_region(region);
  });
  by_name_.erase(*domain->name);
  domains.give_back(handle);
  return true;
}

Handle Registry::add_heap(Heap heap) { return add(heaps, std::move(heap)); }

void Registry::drop_heap(Handle handle) {
  for (Handle region : regions_of(handle)) drop_region(region);
  heaps.give_back(handle);
}

Handle Registry::news_heap(Handle domain, const mstxMemVirtualRangeDesc_t& range) {
  Handle& known = news_[uint64_t{domain.index} << 32 | range.deviceId];
  if (Heap* heap = heaps.live(known); heap != nullptr && heap->domain == domain)
    heap->range = range;
  else
    known = add(heaps, Heap{domain, range});
  return known;
}

void Registry::put_first(Handle& newest, Handle handle, Region::Links Region::*list) {
  (regions.at(handle.index).*list).older = newest;
  if (Region* older = regions.live(newest)) (older->*list).newer = handle;
  newest = handle;
}

void Registry::take_out(Handle& newest, const Region& region, Region::Links Region::*list) {
  const auto [older, newer] = region.*list;
  if (Region* record = regions.live(older)) (record->*list).newer = newer;
  if (Region* record = regions.live(newer))
    (record->*list).older = older;
  else
    newest = older;
}

Handle Registry::add_region(Region region) {
  Heap* const heap = heaps.live(region.heap);
  if (heap == nullptr) region.heap = {};
  Handle* const newest = region.range ? &newest_at_[{region.domain, region.range->ptr}] : nullptr;
  const Handle handle = add(regions, std::move(region));
  if (heap != nullptr) put_first(heap->first_region, handle, &Region::in_heap);
  if (newest != nullptr) put_first(*newest, handle, &Region::at_start);
  return handle;
}

void Registry::drop_region(Handle handle) {
  Region* const region = regions.live(handle);
  if (region == nullptr) return;
  if (Heap* heap = heaps.live(region->heap)) take_out(heap->first_region, *region, &Region::in_heap);
  if (region->range) {
    const auto place = newest_at_.find({region->domain, region->range->ptr});
    take_out(place->second, *region, &Region::at_start);
    if (!place->second) newest_at_.erase(place);
  }
  regions.give_back(handle);
}

Handle Registry::region_at(Handle domain, const void* pointer) const {
  const auto place = newest_at_.find({domain, pointer});
  return place == newest_at_.end() ? Handle{} : place->second;
}

std::vector<Handle> Registry::regions_of(Handle handle) const {
  std::vector<Handle> found;
  const Heap* heap = heaps.live(handle);
  for (Handle region = heap != nullptr ? heap->first_region : Handle{}; region;
       region = regions.live(region)->in_heap.older)
    found.push_back(region);
  return found;
}

}  // namespace plat::mstx
