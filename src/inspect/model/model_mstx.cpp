// Heaps and regions, as programs tell of them.
#define MSTX_NO_IMPL
#include "plat/mstx_ext.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "inspect/model/model.h"

namespace plat::inspect {

namespace {

constexpr std::array<std::string_view, 3> kDialects = {"ptaCaching", "ptaWorkspace", "mindsporeMemPool"};

}  // namespace

Layer& Model::layer_of(uint64_t domain) {
  const auto found = domains_.find(domain);
  const std::string name = found != domains_.end() ? found->second : "";
  const auto [layer, fresh] = layers_.try_emplace(name);
  if (fresh) {
    layer->second.name = name;
    for (const std::string_view dialect : kDialects) layer->second.dialect |= dialect == name;
  }
  return layer->second;
}

void Model::heap_register(const Event& event) {
  Layer& layer = layer_of(event[0]);
  if (layer.dialect) return;  // news of how much the pool has; no heap
  if (event[5] != 0 || event[6] != 0) {
    problem(RuleId::MstxBatchUnset, event,
            fmt::format("usage is {} and type is {}, and there is only 0", static_cast<int64_t>(event[5]),
                        static_cast<int64_t>(event[6])));
    return;
  }
  const uint64_t start = event[3], size = event[4];
  if (start == 0 || size == 0 || start + size < start) return;
  Object& heap = add(event, Kind::Heap, start, size);
  heap.number = event[1];
  heap.domain = event[0];
  heap.device = static_cast<int32_t>(event[2]);
  heap.name = layer.name;
  name(Kind::Heap, event[1], heap);
  uint64_t covered = start;
  memory_.for_each(start, start + size, [&](uint64_t first, uint64_t last, ObjectId) {
    if (first == covered) covered = last;
  });
  if (covered < start + size && !is_view(start) && !is_reserved(start, start + size))
    problem(RuleId::MstxHeapUnallocated, event,
            fmt::format("of {} bytes at {:#x} nothing is known to be allocated from {:#x} on", size, start,
                        covered),
            &heap);
  const Object* other = nullptr;
  layer.heaps.for_each(start, start + size, [&](uint64_t, uint64_t, ObjectId id) { other = &object(id); });
  if (other != nullptr)
    problem(RuleId::MstxHeapOverlap, event,
            fmt::format("{:#x}+{} overlaps {:#x}+{}", start, size, other->start, other->size), &heap, other);
  layer.heaps.assign(start, start + size, heap.id);
  listener_.born(heap);
}

void Model::end_region(const Event& event, Layer& layer, Object& region) {
  layer.regions.erase(region.start, region.end());
  layer.freed.assign(region.start, region.end(), region.id);
  end(event, region);
}

void Model::end_heap(const Event& event, Layer& layer, Object& heap) {
  std::vector<ObjectId> inside;
  layer.regions.for_each(heap.start, heap.end(),
                         [&](uint64_t, uint64_t, ObjectId id) { inside.push_back(id); });
  for (const ObjectId id : inside)
    if (at(id).parent == heap.id) end_region(event, layer, at(id));
  layer.heaps.erase(heap.start, heap.end());
  layer.freed.erase(heap.start, heap.end());  // plain memory again
  end(event, heap);
}

void Model::region_register(const Event& event) {
  Layer& layer = layer_of(event[0]);
  if (event[6] != 0) {
    problem(RuleId::MstxBatchUnset, event,
            fmt::format("regionType is {}, and there is only 0", static_cast<int64_t>(event[6])));
    return;
  }
  const uint64_t start = event[4], size = event[5];
  if (start == 0 || size == 0 || start + size < start) return;
  const Object* heap = event[1] != 0 ? known(Kind::Heap, event[1]) : nullptr;
  if (event[1] != 0 && (heap == nullptr || !heap->lives())) {
    problem(heap == nullptr ? RuleId::MstxBatchUnset : RuleId::MstxReference, event,
            fmt::format("heap is {:#x}, and no live heap is", event[1]), heap);
    heap = nullptr;
  }
  if (heap != nullptr && (start < heap->start || start + size > heap->end())) {
    problem(RuleId::MstxRegionOutside, event,
            fmt::format("{:#x}+{} does not lie in {:#x}+{}", start, size, heap->start, heap->size), heap);
    return;
  }
  std::vector<ObjectId> overlapped;
  layer.regions.for_each(start, start + size,
                         [&](uint64_t, uint64_t, ObjectId id) { overlapped.push_back(id); });
  for (const ObjectId id : overlapped) {
    if (!layer.dialect)
      problem(RuleId::MstxRegionOverlap, event,
              fmt::format("{:#x}+{} overlaps {:#x}+{}, which lives", start, size, at(id).start, at(id).size),
              &at(id));
    end_region(event, layer, at(id));
  }
  Object& region = add(event, Kind::Region, start, size);
  region.number = event[2];
  region.domain = event[0];
  region.device = static_cast<int32_t>(event[3]);
  region.parent = heap != nullptr ? heap->id : 0;
  region.dialect = layer.dialect;
  region.name = layer.name;
  name(Kind::Region, event[2], region);
  layer.freed.for_each(start, start + size, [&](uint64_t, uint64_t, ObjectId id) {
    for (const Use& use : at(id).uses)
      if (!order_.is_before(use.position, Order::kHost)) region.inherited.push_back(use);
    for (const Use& use : at(id).inherited)
      if (!order_.is_before(use.position, Order::kHost)) region.inherited.push_back(use);
  });
  layer.freed.erase(start, start + size);
  layer.regions.assign(start, start + size, region.id);
  listener_.born(region);
}

Object* Model::referenced(const Event& event, Layer& layer) {
  const uint64_t type = event[1], handle = event[2], address = event[3];
  Ranges::Range range;
  Object* region = nullptr;
  if (type == MSTX_MEM_REGION_REF_TYPE_POINTER) {
    if (layer.regions.find(address, range) && at(range.value).start == address) return &at(range.value);
    if (layer.freed.find(address, range) && at(range.value).start == address) region = &at(range.value);
    if (region == nullptr && layer.dialect) return nullptr;  // it was there before us
  } else if (type == MSTX_MEM_REGION_REF_TYPE_HANDLE) {
    region = known(Kind::Region, handle);
    if (region != nullptr && region->lives()) return region;
  }
  mstx_problems_[event.thread] = event.number;
  if (region != nullptr) {
    const bool twice = event.op == Op::mstxMemRegionsUnregister;
    problem(twice ? RuleId::MstxUnregisterTwice : RuleId::MstxReference, event,
            fmt::format("the region at {:#x} was unregistered before", region->start), region);
    return nullptr;
  }
  std::string detail = type == 0   ? fmt::format("no region starts at {:#x}", address)
                       : type == 1 ? fmt::format("{:#x} is no handle of a region", handle)
                                   : fmt::format("refType is {}, neither pointer nor handle", type);
  // A pointer passed as a handle shows by the region that starts there.
  if (type == 1 && layer.regions.find(handle, range)) detail += "; it is the address of one";
  problem(RuleId::MstxReference, event, std::move(detail));
  return nullptr;
}

// The broker's word on calls that it could not pass on. What it did pass on was seen already.
void Model::notice(const Event& event) {
  if (mstx_problems_[event.thread] != 0 && event.number <= mstx_problems_[event.thread] + 2) return;
  switch (event[0]) {
    case PLAT_MSTX_NOTICE_NULL_ARGUMENT:
      return problem(RuleId::MstxBatchUnset, event, fmt::format("{} was passed a null pointer", event.text));
    case PLAT_MSTX_NOTICE_UNKNOWN_HEAP:
      return problem(event.text == "mstxMemRegionsRegister" ? RuleId::MstxBatchUnset : RuleId::MstxReference,
                     event, fmt::format("{}: {:#x} is no live heap", event.text, event[2]));
    case PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN:
    case PLAT_MSTX_NOTICE_UNKNOWN_REGION:
    case PLAT_MSTX_NOTICE_REF_TYPE:
      return problem(RuleId::MstxReference, event,
                     fmt::format("{}: {:#x} names nothing that lives", event.text, event[2]));
    default:
      return;
  }
}

// A tool that leaves misses what goes, and is told of all that lives, under new numbers, when it comes again.
void Model::forget_told(const Event& event) {
  for (auto& [name, layer] : layers_) {
    const auto gone = [&](uint64_t, uint64_t, ObjectId id) {
      if (at(id).lives()) end(event, at(id));
    };
    layer.regions.for_each(gone);
    layer.heaps.for_each(gone);
    layer.regions.clear();
    layer.heaps.clear();
    layer.freed.clear();
  }
}

bool Model::is_reserved(uint64_t start, uint64_t end) const {
  bool reserved = false;
  reservations_.for_each(start, end, [&](uint64_t, uint64_t, ObjectId id) {
    reserved = object(id).start <= start && end <= object(id).end();
  });
  return reserved;
}

void Model::memory_goes(const Event& event, const Object& object) {
  for (auto& [name, layer] : layers_) {
    std::vector<ObjectId> heaps;
    layer.heaps.for_each(object.start, object.end(),
                         [&](uint64_t, uint64_t, ObjectId id) { heaps.push_back(id); });
    for (const ObjectId id : heaps) {
      // A pool that backs a reservation as it needs unmaps parts of its heap, and keeps the heap.
      const bool is_part = at(id).start < object.start || at(id).end() > object.end();
      if (object.kind == Kind::Mapping && is_part && is_reserved(at(id).start, at(id).end())) continue;
      problem(RuleId::MstxHeapGone, event,
              fmt::format("the heap at {:#x}+{} is still registered", at(id).start, at(id).size), &at(id),
              &object);
      end_heap(event, layer, at(id));
    }
    if (layer.dialect) layer.freed.erase(object.start, object.end());
  }
}

void Model::apply_mstx(const Event& event) {
  switch (event.op) {
    case Op::mstxDomainCreate:
      domains_[event[0]] = event.text;
      return;
    case Op::mstxMemHeapRegister:
      return heap_register(event);
    case Op::mstxMemHeapUnregister: {
      Layer& layer = layer_of(event[0]);
      Object* const heap = known(Kind::Heap, event[1]);
      if (layer.dialect) return;
      if (heap != nullptr && heap->lives()) return end_heap(event, layer, *heap);
      mstx_problems_[event.thread] = event.number;
      problem(heap != nullptr ? RuleId::MstxUnregisterTwice : RuleId::MstxReference, event,
              heap != nullptr ? fmt::format("the heap at {:#x} was unregistered before", heap->start)
                              : fmt::format("{:#x} is no heap", event[1]),
              heap);
      return;
    }
    case Op::mstxMemRegionsRegister:
      return region_register(event);
    case Op::mstxMemRegionsUnregister: {
      Layer& layer = layer_of(event[0]);
      if (Object* const region = referenced(event, layer)) end_region(event, layer, *region);
      return;
    }
    case Op::mstxMemPermissionsAssign:
      if (Object* const region = referenced(event, layer_of(event[0])))
        region->permissions = static_cast<uint32_t>(event[4]);
      return;
    case Op::platMstxMemHeapName:
      if (Object* const heap = live(Kind::Heap, event[1])) heap->label = event.text;
      return;
    case Op::platMstxMemRegionsName:
      if (Object* const region = referenced(event, layer_of(event[0]))) region->label = event.text;
      return;
    case Op::platMstxMemHeapReset: {
      Layer& layer = layer_of(event[0]);
      Object* const heap = live(Kind::Heap, event[1]);
      if (heap == nullptr) return;
      std::vector<ObjectId> inside;
      layer.regions.for_each(heap->start, heap->end(),
                             [&](uint64_t, uint64_t, ObjectId id) { inside.push_back(id); });
      for (const ObjectId id : inside)
        if (at(id).parent == heap->id) end_region(event, layer, at(id));
      return;
    }
    case Op::platMstxMemRegionsResize: {
      Layer& layer = layer_of(event[0]);
      Object* const region = referenced(event, layer);
      if (region == nullptr || event[4] == 0 || region->start + event[4] < region->start) return;
      layer.regions.erase(region->start, region->end());
      if (event[4] < region->size) layer.freed.assign(region->start + event[4], region->end(), region->id);
      region->size = region->usable = event[4];
      layer.freed.erase(region->start, region->end());
      layer.regions.assign(region->start, region->end(), region->id);
      return;
    }
    case Op::platMstxMemMarkInitialized:
      return set_written(event[2], event[3], event.number);
    case Op::mstxReplayBegin:
      replaying_ = true;
      missed_ = event[0] == 0;
      return forget_told(event);
    case Op::mstxDetach:
      return forget_told(event);
    case Op::mstxReplayEnd:
      replaying_ = false;
      return;
    case Op::mstxNotice:
      return notice(event);
    default:
      return;
  }
}

}  // namespace plat::inspect
