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

Handle Registry::create_domain(std::string_view name) {
  const auto [place, fresh] = by_name_.try_emplace(std::string(name));
  if (fresh) {
    try {
      place->second = add(domains, Domain{std::string(name), speaks_dialect(name), 0});
    } catch (...) {
      by_name_.erase(place);
      throw;
    }
  }
  ++domains.live(place->second)->references;
  return place->second;
}

bool Registry::destroy_domain(Handle handle) {
  Domain* domain = domains.live(handle);
  if (domain == nullptr || --domain->references != 0) return false;
  std::vector<Handle> gone;
  heaps.for_each_live([&](Handle heap, Heap& record) {
    if (record.domain == handle) gone.push_back(heap);
  });
  for (Handle heap : gone) drop_heap(heap);
  gone.clear();
  regions.for_each_live([&](Handle region, Region& record) {
    if (record.domain == handle) gone.push_back(region);
  });
  for (Handle region : gone) drop_region(region);
  by_name_.erase(domain->name);
  domains.give_back(handle);
  return true;
}

Handle Registry::add_heap(Heap heap) { return add(heaps, std::move(heap)); }

void Registry::drop_heap(Handle handle) {
  drop_regions_of(handle);
  const Heap* heap = heaps.live(handle);
  if (heap == nullptr) return;
  if (const auto news = news_.find(uint64_t{heap->domain.index} << 32 | heap->range.deviceId);
      news != news_.end() && news->second == handle)
    news_.erase(news);
  heaps.give_back(handle);
}

void Registry::drop_regions_of(Handle handle) {
  for (Handle region : regions_of(handle)) drop_region(region);
}

Handle Registry::news_heap(Handle domain, const mstxMemVirtualRangeDesc_t& range) {
  Handle& known = news_[uint64_t{domain.index} << 32 | range.deviceId];
  if (Heap* heap = heaps.live(known); heap != nullptr && heap->domain == domain) {
    heap->range = range;
    return known;
  }
  known = add(heaps, Heap{domain, range, 0, true, {}, {}, {}});
  return known;
}

Handle Registry::add_region(Region region) {
  const Start start = start_of(region.domain, region.range.ptr);
  const bool described = region.described;
  Heap* heap = heaps.live(region.heap);
  if (heap == nullptr) region.heap = {};
  const Handle handle = add(regions, std::move(region));
  Region& record = *regions.live(handle);
  if (heap != nullptr) {
    record.next_in_heap = heap->first_region;
    if (Region* next = regions.live(heap->first_region)) next->previous_in_heap = handle;
    heap->first_region = handle;
  }
  if (described) {
    const auto [place, fresh] = by_start_.try_emplace(start, handle);
    if (!fresh) record.shadowed = std::exchange(place->second, handle);
  }
  return handle;
}

void Registry::drop_region(Handle handle) {
  Region* region = regions.live(handle);
  if (region == nullptr) return;
  if (Region* previous = regions.live(region->previous_in_heap))
    previous->next_in_heap = region->next_in_heap;
  else if (Heap* heap = heaps.live(region->heap); heap != nullptr && heap->first_region == handle)
    heap->first_region = region->next_in_heap;
  if (Region* next = regions.live(region->next_in_heap)) next->previous_in_heap = region->previous_in_heap;
  if (region->described) forget_start(handle, *region);
  regions.give_back(handle);
}

void Registry::forget_start(Handle handle, const Region& region) {
  const auto place = by_start_.find(start_of(region.domain, region.range.ptr));
  if (place == by_start_.end()) return;
  if (place->second == handle) {
    if (regions.live(region.shadowed) != nullptr)
      place->second = region.shadowed;
    else
      by_start_.erase(place);
    return;
  }
  // An older one goes first: the one that shadows it takes over what it shadowed.
  for (Region* above = regions.live(place->second); above != nullptr; above = regions.live(above->shadowed)) {
    if (above->shadowed == handle) {
      above->shadowed = region.shadowed;
      return;
    }
  }
}

Handle Registry::region_at(Handle domain, const void* pointer) const {
  const auto place = by_start_.find(start_of(domain, pointer));
  return place == by_start_.end() ? Handle{} : place->second;
}

std::vector<Handle> Registry::regions_of(Handle handle) {
  std::vector<Handle> found;
  const Heap* heap = heaps.live(handle);
  if (heap == nullptr) return found;
  for (Handle region = heap->first_region; region; region = regions.live(region)->next_in_heap)
    found.push_back(region);
  return found;
}

}  // namespace plat::mstx
