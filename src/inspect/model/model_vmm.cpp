// Reservations, physical handles, mappings.
#include <fmt/format.h>

#include "base/text.h"
#include "inspect/model/model.h"

namespace plat::inspect {

void Model::free_physical(const Event& event) {
  Object* const handle = known(Kind::Physical, event[0]);
  if (event[0] == 0) return;
  if (handle == nullptr) {
    problem(RuleId::FreeUnknown, event, fmt::format("{:#x} is no physical handle", event[0]));
    return;
  }
  if (!handle->lives()) {
    problem(RuleId::FreeTwice, event, fmt::format("the physical handle {:#x} was freed before", event[0]),
            handle);
    return;
  }
  if (!event.succeeded()) return;
  if (--handle->references > 0) return;
  if (handle->mappings > 0)
    problem(RuleId::RuleTeardown, event,
            fmt::format("{} mapping{} still hold{} the physical handle {:#x}", handle->mappings,
                        handle->mappings == 1 ? "" : "s", handle->mappings == 1 ? "s" : "", event[0]),
            handle);
  end(event, *handle);
}

void Model::map(const Event& event) {
  if (!event.succeeded()) return;
  Object* handle = known(Kind::Physical, event[2]);
  if (event.op == Op::aclrtMemMapSelectedLink) {  // an alias of a mapping
    Ranges::Range range;
    handle = memory_.find(event[2], range) && at(range.value).kind == Kind::Mapping
                 ? &at(at(range.value).parent)
                 : nullptr;
  }
  if (handle == nullptr) {  // made before the recorder came
    handle = &add(event, Kind::Physical, event[2], event[1]);
    handle->references = 0;
    handle->opaque = true;
    handle->died = Site::of(event);
  }
  Object& mapping = add(event, Kind::Mapping, event[0], event[1]);
  mapping.parent = handle->id;
  mapping.device = handle->device;
  ++handle->mappings;
  memory_.assign(mapping.start, mapping.end(), mapping.id);
  freed_memory_.erase(mapping.start, mapping.end());
  listener_.born(mapping);
  if (event[1] < handle->size)
    problem(
        RuleId::RuleMapWhole, event,
        fmt::format("{} of a handle of {} are mapped", format_bytes(event[1]), format_bytes(handle->size)),
        &mapping, handle);
}

void Model::unmap(const Event& event) {
  Ranges::Range range;
  const bool found = memory_.find(event[0], range) && object(range.value).kind == Kind::Mapping;
  if (!found || range.start != event[0]) {
    if (event[0] == 0) return;
    if (!found && freed_memory_.find(event[0], range) && object(range.value).kind == Kind::Mapping &&
        object(range.value).start == event[0]) {
      problem(RuleId::FreeTwice, event, fmt::format("{:#x} was unmapped before", event[0]),
              &object(range.value));
    } else {
      problem(RuleId::FreeUnknown, event, fmt::format("no mapping starts at {:#x}", event[0]),
              found ? &object(range.value) : nullptr);
    }
    return;
  }
  if (!event.succeeded()) return;
  Object& mapping = at(range.value);
  check_in_flight(event, mapping, Order::kHost);
  end_memory(event, mapping);
}

void Model::release(const Event& event) {
  Object* const range = known(Kind::Reservation, event[0]);
  if (event[0] == 0) return;
  if (range == nullptr || !range->lives()) {
    problem(range == nullptr ? RuleId::FreeUnknown : RuleId::FreeTwice, event,
            fmt::format("no live reservation starts at {:#x}", event[0]), range);
    return;
  }
  if (!event.succeeded()) return;
  // A device that lets this pass removes the mappings along with the addresses.
  std::vector<ObjectId> inside;
  memory_.for_each(range->start, range->end(),
                   [&](uint64_t, uint64_t, ObjectId id) { inside.push_back(id); });
  for (const ObjectId id : inside) {
    problem(RuleId::RuleTeardown, event, "the addresses are released while memory is mapped there", &at(id),
            range);
    end_memory(event, at(id));
  }
  reservations_.erase(range->start, range->end());
  memory_goes(event, *range);
  end(event, *range);
}

void Model::retain(const Event& event) {
  Ranges::Range range;
  if (!event.succeeded() || !memory_.find(event[0], range) || at(range.value).parent == 0) return;
  Object& handle = at(at(range.value).parent);
  if (handle.lives()) {
    ++handle.references;
    return;
  }
  handle.died = {};  // only the mapping held it; now the program does again
  handle.references = 1;
  handle.start = event[1];
  name(Kind::Physical, event[1], handle);
  listener_.born(handle);
}

void Model::apply_vmm(const Event& event) {
  switch (event.op) {
    case Op::aclrtReserveMemAddress:
    case Op::aclrtReserveMemAddressNoUCMemory: {
      if (!event.succeeded()) return;
      Object& range = add(event, Kind::Reservation, event[0], event[1]);
      name(Kind::Reservation, event[0], range);
      reservations_.assign(range.start, range.end(), range.id);
      listener_.born(range);
      return;
    }
    case Op::aclrtReleaseMemAddress:
      return release(event);
    case Op::aclrtMallocPhysical: {
      if (!event.succeeded()) return;
      Object& handle = add(event, Kind::Physical, event[0], event[1]);
      handle.device = event[3] == 1 ? static_cast<int32_t>(event[4]) : -1;  // ACL_MEM_LOCATION_TYPE_DEVICE
      name(Kind::Physical, event[0], handle);
      listener_.born(handle);
      return;
    }
    case Op::aclrtMemImportFromShareableHandle:
    case Op::aclrtMemImportFromShareableHandleV2: {
      if (!event.succeeded()) return;
      if (Object* const again = live(Kind::Physical, event[0]); again != nullptr) {
        ++again->references;
        return;
      }
      Object& handle = add(event, Kind::Physical, event[0], 0);
      handle.imported = handle.opaque = true;
      name(Kind::Physical, event[0], handle);
      listener_.born(handle);
      return;
    }
    case Op::aclrtMemExportToShareableHandle:
    case Op::aclrtMemExportToShareableHandleV2:
      if (Object* const handle = live(Kind::Physical, event[0]); handle != nullptr && event.succeeded())
        handle->opaque = true;
      return;
    case Op::aclrtFreePhysical:
      return free_physical(event);
    case Op::aclrtMapMem:
    case Op::aclrtMemMapNoAccess:
    case Op::aclrtMemMapSelectedLink:
      return map(event);
    case Op::aclrtUnmapMem:
      return unmap(event);
    case Op::aclrtMemRetainAllocationHandle:
      return retain(event);
    default:
      return;
  }
}

}  // namespace plat::inspect
