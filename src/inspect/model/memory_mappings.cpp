// SPDX-License-Identifier: Apache-2.0
// Reservations, physical handles, mappings.
#include <fmt/format.h>

#include "acl/acl.h"
#include "base/text.h"
#include "inspect/model/memory_book.h"

namespace plat::inspect {

void MemoryBook::free_physical(const Event& event) {
  Object* const handle = registry_.known(Kind::Physical, event.handle());
  if (event.handle() == 0) return;
  if (handle == nullptr) {
    registry_.problem(RuleId::GivenBackUnknown, event,
                      fmt::format("{:#x} is no physical handle", event.handle()));
    return;
  }
  if (!handle->lives()) {
    registry_.problem(RuleId::GivenBackTwice, event,
                      fmt::format("the physical handle {:#x} was freed before", event.handle()), handle);
    return;
  }
  if (!event.succeeded()) return;
  if (--handle->references > 0) return;
  if (handle->mappings > 0)
    registry_.problem(
        RuleId::RuleTeardown, event,
        fmt::format("{} mapping{} still hold{} the physical handle {:#x}", handle->mappings,
                    handle->mappings == 1 ? "" : "s", handle->mappings == 1 ? "s" : "", event.handle()),
        handle);
  registry_.end(event, *handle);
}

void MemoryBook::map(const Event& event) {
  if (!event.succeeded()) return;
  Object* handle = registry_.known(Kind::Physical, event.handle());
  if (event.op == Op::aclrtMemMapSelectedLink) {  // an alias of a mapping
    Ranges::Range range;
    handle = memory_.find(event.source(), range) && at(range.value).kind == Kind::Mapping
                 ? &at(at(range.value).parent)
                 : nullptr;
  }
  if (handle == nullptr) {  // made before the recorder came
    handle = &registry_.add(event, Kind::Physical, event.handle(), event.size());
    handle->references = 0;
    handle->opaque = true;
    handle->died = Site::of(event);
  }
  Object& mapping = registry_.add(event, Kind::Mapping, event.address(), event.size());
  mapping.parent = handle->id;
  mapping.device = handle->device;
  ++handle->mappings;
  memory_.assign(mapping.start, mapping.end(), mapping.id);
  freed_memory_.erase(mapping.start, mapping.end());
  comes_(mapping);
  registry_.listener().born(mapping);
  if (event.size() < handle->size)
    registry_.problem(RuleId::RuleMapWhole, event,
                      fmt::format("{} of a handle of {} are mapped", format_bytes(event.size()),
                                  format_bytes(handle->size)),
                      &mapping, handle);
}

void MemoryBook::unmap(const Event& event) {
  Ranges::Range range;
  const bool found = memory_.find(event.address(), range) && object(range.value).kind == Kind::Mapping;
  if (!found || range.start != event.address()) {
    if (event.address() == 0) return;
    if (!found && freed_memory_.find(event.address(), range) && object(range.value).kind == Kind::Mapping &&
        object(range.value).start == event.address()) {
      registry_.problem(RuleId::GivenBackTwice, event,
                        fmt::format("{:#x} was unmapped before", event.address()), &object(range.value));
    } else {
      registry_.problem(RuleId::GivenBackUnknown, event,
                        fmt::format("no mapping starts at {:#x}", event.address()),
                        found ? &object(range.value) : nullptr);
    }
    return;
  }
  if (!event.succeeded()) return;
  Object& mapping = at(range.value);
  check_in_flight(event, mapping, Order::kHost);
  end_memory(event, mapping);
}

void MemoryBook::release(const Event& event) {
  Object* const range = registry_.known(Kind::Reservation, event.address());
  if (event.address() == 0) return;
  if (range == nullptr || !range->lives()) {
    registry_.problem(range == nullptr ? RuleId::GivenBackUnknown : RuleId::GivenBackTwice, event,
                      fmt::format("no live reservation starts at {:#x}", event.address()), range);
    return;
  }
  if (!event.succeeded()) return;
  // A device that lets this pass removes the mappings along with the addresses.
  std::vector<ObjectId> inside;
  memory_.for_each(range->start, range->end(),
                   [&](uint64_t, uint64_t, ObjectId id) { inside.push_back(id); });
  for (const ObjectId id : inside) {
    registry_.problem(RuleId::RuleTeardown, event, "the addresses are released while memory is mapped there",
                      &at(id), range);
    end_memory(event, at(id));
  }
  reservations_.erase(range->start, range->end());
  goes_(event, *range);
  registry_.end(event, *range);
}

void MemoryBook::retain(const Event& event) {
  Ranges::Range range;
  if (!event.succeeded() || !memory_.find(event.address(), range) || at(range.value).parent == 0) return;
  Object& handle = at(at(range.value).parent);
  if (handle.lives()) {
    ++handle.references;
    return;
  }
  handle.died = {};  // only the mapping held it; now the program does again
  handle.references = 1;
  handle.start = event.handle();
  registry_.name(Kind::Physical, event.handle(), handle);
  registry_.listener().born(handle);
}

void MemoryBook::apply_mapping(const Event& event) {
  switch (event.op) {
    case Op::aclrtReserveMemAddress:
    case Op::aclrtReserveMemAddressNoUCMemory: {
      if (!event.succeeded()) return;
      Object& range = registry_.add(event, Kind::Reservation, event.address(), event.size());
      registry_.name(Kind::Reservation, event.address(), range);
      reservations_.assign(range.start, range.end(), range.id);
      registry_.listener().born(range);
      return;
    }
    case Op::aclrtReleaseMemAddress:
      return release(event);
    case Op::aclrtMallocPhysical: {
      if (!event.succeeded()) return;
      Object& handle = registry_.add(event, Kind::Physical, event.handle(), event.size());
      handle.device =
          event.location_type() == ACL_MEM_LOCATION_TYPE_DEVICE ? static_cast<int32_t>(event.location()) : -1;
      registry_.name(Kind::Physical, event.handle(), handle);
      registry_.listener().born(handle);
      return;
    }
    case Op::Origin:
      origins_[event.thread] = event.server();
      return;
    case Op::aclrtMemImportFromShareableHandle:
    case Op::aclrtMemImportFromShareableHandleV2: {
      if (!event.succeeded()) return;
      const auto origin = origins_.extract(event.thread);
      if (Object* const again = registry_.live(Kind::Physical, event.handle()); again != nullptr) {
        ++again->references;
        return;
      }
      Object& handle = registry_.add(event, Kind::Physical, event.handle(), 0);
      handle.imported = handle.opaque = true;
      if (!origin.empty()) handle.name = fmt::format("server {}", origin.mapped());
      registry_.name(Kind::Physical, event.handle(), handle);
      registry_.listener().born(handle);
      return;
    }
    case Op::aclrtMemExportToShareableHandle:
    case Op::aclrtMemExportToShareableHandleV2:
      if (Object* const handle = registry_.live(Kind::Physical, event.handle());
          handle != nullptr && event.succeeded())
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
