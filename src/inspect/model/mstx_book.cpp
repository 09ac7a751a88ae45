// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/mstx_book.h"

#define MSTX_NO_IMPL
#include "plat/mstx_ext.h"

#include <fmt/format.h>

#include "base/mstx_dialects.h"
#include "base/text.h"

namespace plat::inspect {

Layer& MstxBook::layer_of(uint64_t domain) {
  const auto found = domains_.find(domain);
  const std::string name = found != domains_.end() ? found->second : "";
  const auto [layer, fresh] = layers_.try_emplace(name);
  if (fresh) {
    layer->second.name = name;
    layer->second.dialect = speaks_dialect(name);
  }
  return layer->second;
}

void MstxBook::problem(RuleId rule, const Event& event, std::string detail, const Object* object,
                       const Object* other) {
  // What was registered while nobody listened may be taken back later.
  if (rule == RuleId::MstxReference && missed_) return;
  registry_.problem(rule, event, std::move(detail), object, other);
}

void MstxBook::heap_register(const Event& event) {
  Layer& layer = layer_of(event.domain());
  if (layer.dialect) return;  // news of how much the pool has; no heap
  if (event.heap_usage() != 0 || event.heap_type() != 0) {
    problem(RuleId::MstxBatchUnset, event,
            fmt::format("usage is {} and type is {}, and there is only 0",
                        static_cast<int64_t>(event.heap_usage()), static_cast<int64_t>(event.heap_type())));
    return;
  }
  const uint64_t start = event.address(), size = event.size();
  if (start == 0 || size == 0 || start + size < start) return;
  Object& heap = registry_.add(event, Kind::Heap, start, size);
  heap.number = event.heap();
  heap.domain = event.domain();
  heap.device = static_cast<int32_t>(event.device());
  heap.name = layer.name;
  registry_.name(Kind::Heap, event.heap(), heap);
  uint64_t covered = start;
  memory_.memory().for_each(start, start + size, [&](uint64_t first, uint64_t last, ObjectId) {
    if (first == covered) covered = last;
  });
  if (covered < start + size && !memory_.is_view(start) && !memory_.is_reserved(start, start + size))
    problem(RuleId::MstxHeapUnallocated, event,
            fmt::format("of {} bytes at {:#x} nothing is known to be allocated from {:#x} on", size, start,
                        covered),
            &heap);
  const Object* other = nullptr;
  layer.heaps.for_each(start, start + size, [&](uint64_t, uint64_t, ObjectId id) { other = &at(id); });
  if (other != nullptr) {
    problem(RuleId::MstxHeapOverlap, event,
            fmt::format("{:#x}+{} overlaps {:#x}+{}", start, size, other->start, other->size), &heap, other);
    layer.disputed.assign(std::min(start, other->start), std::max(start + size, other->end()), 1);
  }
  layer.heaps.assign(start, start + size, heap.id);
  memory_.memory().for_each(start, start + size,
                            [&](uint64_t, uint64_t, ObjectId id) { hold(at(id), heap); });
  memory_.reservations().for_each(start, start + size,
                                  [&](uint64_t, uint64_t, ObjectId id) { hold(at(id), heap); });
  registry_.listener().born(heap);
}

void MstxBook::end_region(const Event& event, Layer& layer, Object& region) {
  layer.regions.erase_value(region.start, region.end(), region.id);
  if (!region.disputed) layer.freed.assign(region.start, region.end(), region.id);
  registry_.end(event, region);
}

void MstxBook::end_regions_of(const Event& event, Layer& layer, const Object& heap) {
  std::vector<ObjectId> inside;
  layer.regions.for_each(heap.start, heap.end(),
                         [&](uint64_t, uint64_t, ObjectId id) { inside.push_back(id); });
  for (const ObjectId id : inside)
    if (at(id).parent == heap.id) end_region(event, layer, at(id));
}

void MstxBook::end_heap(const Event& event, Layer& layer, Object& heap) {
  end_regions_of(event, layer, heap);
  layer.heaps.erase_value(heap.start, heap.end(), heap.id);
  layer.freed.erase(heap.start, heap.end());  // plain memory again
  registry_.end(event, heap);
}

void MstxBook::heap_unregister(const Event& event) {
  Layer& layer = layer_of(event.domain());
  Object* const heap = registry_.known(Kind::Heap, event.heap());
  if (layer.dialect) return;
  if (heap != nullptr && heap->lives()) {
    // It ends nevertheless.
    Layer& home = is_of_other_domain(event, layer, *heap) ? layer_of(heap->domain) : layer;
    // Blocks that never came back.
    home.regions.for_each(heap->start, heap->end(), [&](uint64_t, uint64_t, ObjectId id) {
      if (at(id).parent == heap->id) registry_.listener().dropped(at(id), event);
    });
    return end_heap(event, home, *heap);
  }
  problems_[event.thread] = event.number;
  problem(heap != nullptr ? RuleId::MstxUnregisterTwice : RuleId::MstxReference, event,
          heap != nullptr ? fmt::format("the heap at {:#x} was unregistered before", heap->start)
                          : fmt::format("{:#x} is no heap", event.heap()),
          heap);
}

void MstxBook::heap_reset(const Event& event) {
  if (Object* const heap = registry_.live(Kind::Heap, event.heap()))
    end_regions_of(event, layer_of(event.domain()), *heap);
}

void MstxBook::region_register(const Event& event) {
  Layer& layer = layer_of(event.domain());
  if (event.region_type() != 0) {
    problem(RuleId::MstxBatchUnset, event,
            fmt::format("regionType is {}, and there is only 0", static_cast<int64_t>(event.region_type())));
    return refuse_region(event, layer);
  }
  const uint64_t start = event.address(), size = event.size();
  if (start == 0 || size == 0 || start + size < start) return;
  const Object* heap = event.heap() != 0 ? registry_.known(Kind::Heap, event.heap()) : nullptr;
  if (event.heap() != 0 && (heap == nullptr || !heap->lives())) {
    problem(heap == nullptr ? RuleId::MstxBatchUnset : RuleId::MstxReference, event,
            fmt::format("heap is {:#x}, and no live heap is", event.heap()), heap);
    heap = nullptr;
  }
  if (heap != nullptr && (start < heap->start || start + size > heap->end())) {
    problem(RuleId::MstxRegionOutside, event,
            fmt::format("{:#x}+{} does not lie in {:#x}+{}", start, size, heap->start, heap->size), heap);
    return refuse_region(event, layer);
  }
  std::vector<ObjectId> overlapped;
  layer.regions.for_each(start, start + size,
                         [&](uint64_t, uint64_t, ObjectId id) { overlapped.push_back(id); });
  if (!overlapped.empty() && !layer.dialect)
    problem(RuleId::MstxRegionOverlap, event,
            fmt::format("{:#x}+{} overlaps {:#x}+{}, which lives", start, size, at(overlapped.front()).start,
                        at(overlapped.front()).size),
            &at(overlapped.front()));
  for (const ObjectId id : overlapped) {
    if (!at(id).lives()) continue;  // it lay there in two parts
    if (layer.dialect) {
      end_region(event, layer, at(id));  // these clients do not tell of every end
    } else {
      at(id).disputed = true;
      layer.disputed.assign(std::min(start, at(id).start), std::max(start + size, at(id).end()), 1);
      if (start <= at(id).start && at(id).end() <= start + size) end_region(event, layer, at(id));
    }
  }
  Object& region = registry_.add(event, Kind::Region, start, size);
  region.number = event.region();
  region.domain = event.domain();
  region.device = static_cast<int32_t>(event.device());
  region.parent = heap != nullptr ? heap->id : 0;
  region.dialect = layer.dialect;
  region.disputed = !overlapped.empty() && !layer.dialect;
  region.name = layer.name;
  registry_.name(Kind::Region, event.region(), region);
  layer.freed.for_each(start, start + size, [&](uint64_t, uint64_t, ObjectId id) {
    for (const Use& use : at(id).uses)
      if (!streams_.order().is_before(use.position, Order::kHost)) region.inherited.push_back(use);
    for (const Use& use : at(id).inherited)
      if (!streams_.order().is_before(use.position, Order::kHost)) region.inherited.push_back(use);
  });
  layer.freed.erase(start, start + size);
  layer.regions.assign(start, start + size, region.id);
  registry_.listener().born(region);
}

// One that was told wrongly: its handle is known, and nothing more is said about it.
void MstxBook::refuse_region(const Event& event, Layer& layer) {
  Object& region = registry_.add(event, Kind::Region, event.address(), event.size());
  region.number = event.region();
  region.domain = event.domain();
  region.name = layer.name;
  region.disputed = true;
  registry_.name(Kind::Region, event.region(), region);
  if (region.end() > region.start) layer.disputed.assign(region.start, region.end(), 1);
  registry_.listener().born(region);
  registry_.end(event, region);
}

void MstxBook::region_resize(const Event& event) {
  Layer& layer = layer_of(event.domain());
  const uint64_t size = event.size();
  Object* const region = referenced(event, layer);
  if (region == nullptr || size == 0 || region->start + size < region->start) return;
  layer.regions.erase(region->start, region->end());
  if (size < region->size) layer.freed.assign(region->start + size, region->end(), region->id);
  region->size = region->usable = size;
  layer.freed.erase(region->start, region->end());
  layer.regions.assign(region->start, region->end(), region->id);
}

Object* MstxBook::referenced(const Event& event, Layer& layer) {
  const uint64_t type = event.reference_type(), handle = event.region(), address = event.address();
  Ranges::Range range;
  RangeMap<char>::Range disputed;
  Object* region = nullptr;
  if (type == MSTX_MEM_REGION_REF_TYPE_POINTER) {
    if (layer.regions.find(address, range) && at(range.value).start == address) return &at(range.value);
    if (layer.freed.find(address, range) && at(range.value).start == address) region = &at(range.value);
    if (region == nullptr && layer.dialect) return nullptr;  // it was there before us
  } else if (type == MSTX_MEM_REGION_REF_TYPE_HANDLE) {
    region = registry_.known(Kind::Region, handle);
    if (region != nullptr && region->lives())
      return is_of_other_domain(event, layer, *region) ? nullptr : region;
  }
  problems_[event.thread] = event.number;
  const bool was_told = region != nullptr ? region->disputed : layer.disputed.find(address, disputed);
  if (was_told) return nullptr;
  if (region != nullptr) {
    const bool twice = event.op == Op::mstxMemRegionsUnregister;
    problem(twice ? RuleId::MstxUnregisterTwice : RuleId::MstxReference, event,
            fmt::format("the region at {:#x} was unregistered before", region->start), region);
    return nullptr;
  }
  std::string detail = type == MSTX_MEM_REGION_REF_TYPE_POINTER
                           ? fmt::format("no region starts at {:#x}", address)
                       : type == MSTX_MEM_REGION_REF_TYPE_HANDLE
                           ? fmt::format("{:#x} is no handle of a region", handle)
                           : fmt::format("refType is {}, neither pointer nor handle", type);
  // A pointer passed as a handle shows by the region that starts there.
  if (type == MSTX_MEM_REGION_REF_TYPE_HANDLE && layer.regions.find(handle, range))
    detail += "; it is the address of one";
  for (const auto& [name, other] : layers_)
    if (type == MSTX_MEM_REGION_REF_TYPE_POINTER && &other != &layer && other.regions.find(address, range))
      detail += fmt::format(" in this domain; one of domain '{}' does", name);
  problem(RuleId::MstxReference, event, std::move(detail));
  return nullptr;
}

bool MstxBook::is_of_other_domain(const Event& event, const Layer& layer, const Object& object) {
  if (object.name == layer.name) return false;
  problems_[event.thread] = event.number;
  problem(RuleId::MstxReference, event,
          fmt::format("the {} at {:#x} is of domain '{}', and domain '{}' speaks of it", name_of(object.kind),
                      object.start, object.name, layer.name),
          &object);
  return true;
}

// The broker's word on calls that it could not pass on. What it did pass on was seen already.
void MstxBook::notice(const Event& event) {
  if (problems_[event.thread] != 0 && event.number <= problems_[event.thread] + 2) return;
  switch (event.notice()) {
    case PLAT_MSTX_NOTICE_NULL_ARGUMENT:
      return problem(RuleId::MstxBatchUnset, event, fmt::format("{} was passed a null pointer", event.text));
    case PLAT_MSTX_NOTICE_UNKNOWN_HEAP:
      return problem(event.text == "mstxMemRegionsRegister" ? RuleId::MstxBatchUnset : RuleId::MstxReference,
                     event, fmt::format("{}: {:#x} is no live heap", event.text, event.value()));
    case PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN:
    case PLAT_MSTX_NOTICE_UNKNOWN_REGION:
    case PLAT_MSTX_NOTICE_REF_TYPE:
      return problem(RuleId::MstxReference, event,
                     fmt::format("{}: {:#x} names nothing that lives", event.text, event.value()));
    default:
      return;
  }
}

// A tool that leaves misses what goes, and is told of all that lives, under new numbers, when it comes again.
void MstxBook::forget_told(const Event& event) {
  for (auto& [name, layer] : layers_) {
    const auto gone = [&](uint64_t, uint64_t, ObjectId id) {
      if (at(id).lives()) registry_.end(event, at(id));
    };
    layer.regions.for_each(gone);
    layer.heaps.for_each(gone);
    layer.regions.clear();
    layer.heaps.clear();
    layer.freed.clear();
    layer.disputed.clear();
  }
}

void MstxBook::hold(Object& memory, const Object& heap) {
  memory.in_pool = true;
  memory.domain = heap.domain;
  if (memory.kind == Kind::Mapping) hold(at(memory.parent), heap);
}

void MstxBook::memory_comes(Object& mapping) {
  Ranges::Range range;
  for (const auto& [name, layer] : layers_)
    if (layer.heaps.find(mapping.start, range)) hold(mapping, at(range.value));
}

bool MstxBook::is_held_by_pool(const Object& object) const {
  if (!object.in_pool) return false;
  const auto domain = domains_.find(object.domain);
  const auto layer = layers_.find(domain != domains_.end() ? domain->second : "");
  return layer != layers_.end() && layer->second.heaps.size() != 0;
}

void MstxBook::memory_goes(const Event& event, const Object& object) {
  for (auto& [name, layer] : layers_) {
    std::vector<ObjectId> heaps;
    layer.heaps.for_each(object.start, object.end(),
                         [&](uint64_t, uint64_t, ObjectId id) { heaps.push_back(id); });
    for (const ObjectId id : heaps) {
      // A pool that backs a reservation as it needs unmaps parts of its heap, and keeps the heap.
      const bool is_part = at(id).start < object.start || at(id).end() > object.end();
      if (object.kind == Kind::Mapping && is_part && memory_.is_reserved(at(id).start, at(id).end()))
        continue;
      problem(RuleId::MstxHeapGone, event,
              fmt::format("the heap at {:#x}+{} is still registered", at(id).start, at(id).size), &at(id),
              &object);
      end_heap(event, layer, at(id));
    }
    if (layer.dialect) layer.freed.erase(object.start, object.end());
    layer.disputed.erase(object.start, object.end());
  }
}

void MstxBook::apply(const Event& event) {
  switch (event.op) {
    case Op::mstxDomainCreate:
      domains_[event.domain()] = event.text;
      return;
    case Op::mstxMemHeapRegister:
      return heap_register(event);
    case Op::mstxMemHeapUnregister:
      return heap_unregister(event);
    case Op::mstxMemRegionsRegister:
      return region_register(event);
    case Op::mstxMemRegionsUnregister: {
      Layer& layer = layer_of(event.domain());
      if (Object* const region = referenced(event, layer)) end_region(event, layer, *region);
      return;
    }
    case Op::mstxMemPermissionsAssign:
      if (Object* const region = referenced(event, layer_of(event.domain())))
        region->permissions = static_cast<uint32_t>(event.permissions());
      return;
    case Op::platMstxMemHeapName:
      if (Object* const heap = registry_.live(Kind::Heap, event.heap())) heap->label = event.text;
      return;
    case Op::platMstxMemRegionsName:
      if (Object* const region = referenced(event, layer_of(event.domain()))) region->label = event.text;
      return;
    case Op::platMstxMemHeapReset:
      return heap_reset(event);
    case Op::platMstxMemRegionsResize:
      return region_resize(event);
    case Op::platMstxMemMarkInitialized:
      return memory_.set_written(event.address(), event.size(), event.number);
    case Op::mstxReplayBegin:
      registry_.set_replaying(true);
      missed_ = event.complete() == 0;
      return forget_told(event);
    case Op::mstxDetach:
      return forget_told(event);
    case Op::mstxReplayEnd:
      return registry_.set_replaying(false);
    case Op::mstxNotice:
      return notice(event);
    default:
      return;
  }
}

}  // namespace plat::inspect
