// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/copy_book.h"

#include <fmt/format.h>

#include "acl/acl.h"

namespace plat::inspect {

namespace {

// What each side of a copy must be.
constexpr bool writes_device(uint64_t direction) {
  return direction == ACL_MEMCPY_HOST_TO_DEVICE || direction == ACL_MEMCPY_DEVICE_TO_DEVICE ||
         direction >= ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE;
}
constexpr bool reads_device(uint64_t direction) {
  return direction == ACL_MEMCPY_DEVICE_TO_HOST || direction == ACL_MEMCPY_DEVICE_TO_DEVICE ||
         direction == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE || direction == ACL_MEMCPY_INTER_DEVICE_TO_DEVICE;
}
static_assert(kBatchDirection == ACL_MEMCPY_DEFAULT);

constexpr bool writes_host(uint64_t direction) {
  return direction == ACL_MEMCPY_HOST_TO_HOST || direction == ACL_MEMCPY_DEVICE_TO_HOST;
}
constexpr bool reads_host(uint64_t direction) {
  return direction == ACL_MEMCPY_HOST_TO_HOST || direction == ACL_MEMCPY_HOST_TO_DEVICE ||
         direction == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE;
}
const char* name_of_direction(uint64_t direction) {
  constexpr const char* kNames[] = {"ACL_MEMCPY_HOST_TO_HOST",
                                    "ACL_MEMCPY_HOST_TO_DEVICE",
                                    "ACL_MEMCPY_DEVICE_TO_HOST",
                                    "ACL_MEMCPY_DEVICE_TO_DEVICE",
                                    "ACL_MEMCPY_DEFAULT",
                                    "ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE",
                                    "ACL_MEMCPY_INNER_DEVICE_TO_DEVICE",
                                    "ACL_MEMCPY_INTER_DEVICE_TO_DEVICE"};
  return direction < std::size(kNames) ? kNames[direction] : "unknown";
}

constexpr uint64_t kValueBytes = 8;
constexpr uint64_t kRowsMax = 5'242'880;  // more is refused

void note_use(Object& object, Position position, const Event& event) {
  for (Use& use : object.uses)
    if (use.position.actor == position.actor) {
      use = {position, Site::of(event)};
      return;
    }
  object.uses.push_back({position, Site::of(event)});
}

}  // namespace

CopyBook::Turn CopyBook::turn_of(const Event& event, bool asynchronous) {
  Turn turn;
  turn.asynchronous = asynchronous;
  turn.stream = asynchronous ? event.stream() : 0;
  if (asynchronous) turn.actor = streams_.actor_of(event, turn.stream);
  if (event.succeeded()) turn.position = streams_.order().act(turn.actor);
  return turn;
}

void CopyBook::tell(Access access, Position position) {
  if (access.size == 0) return;
  if (access.address + access.size < access.address) access.size = 0 - access.address;
  access.position = position;
  registry_.listener().access(access);
  if (!access.event.succeeded()) return;
  MemoryBook::Ranges::Range range;
  if (memory_.memory().find(access.address, range))
    note_use(registry_.at(range.value), position, access.event);
  for (const auto& [name, layer] : mstx_.layers())
    if (layer.regions.find(access.address, range)) {
      Object& region = registry_.at(range.value);
      note_use(region, position, access.event);
      region.inherited.clear();  // it was looked at
    }
}

// What is known to be of the host or of the device, against what the direction says; and whether a copy
// writes what it still has to read.
void CopyBook::check_sides(const Event& event, uint64_t target, uint64_t source, uint64_t size,
                           uint64_t direction) {
  const auto find = [&](uint64_t address) -> const Object* {
    MemoryBook::Ranges::Range range;
    return memory_.memory().find(address, range) ? &registry_.at(range.value) : nullptr;
  };
  const auto is_wrong = [](const Object* object, bool to_host, bool to_device) {
    if (object == nullptr || object->kind == Kind::HostRegistration || object->kind == Kind::ManagedBlock ||
        object->kind == Kind::Mbuf)
      return false;
    return object->kind == Kind::HostBlock ? to_device : to_host;
  };
  const Object* const to = find(target);
  const Object* const from = find(source);
  const bool target_wrong = is_wrong(to, writes_host(direction), writes_device(direction));
  if (target_wrong || is_wrong(from, reads_host(direction), reads_device(direction))) {
    const Object* const wrong = target_wrong ? to : from;
    registry_.problem(RuleId::RuleCopyKind, event,
                      fmt::format("the kind is {}, and the {} {:#x} is in a {}", name_of_direction(direction),
                                  target_wrong ? "destination" : "source", target_wrong ? target : source,
                                  name_of(wrong->kind)),
                      wrong);
  }
  const bool overlaps = target < source + size && source < target + size;
  if (overlaps && to != nullptr && to->kind != Kind::HostBlock && to->kind != Kind::HostRegistration)
    registry_.problem(RuleId::RuleCopyOverlap, event,
                      fmt::format("{} bytes from {:#x} to {:#x}, {} apart", size, source, target,
                                  target > source ? target - source : source - target),
                      to);
}

void CopyBook::copy(const Event& event, uint64_t target, uint64_t source, uint64_t size, uint64_t direction,
                    bool asynchronous) {
  if (size == 0) return;
  check_sides(event, target, source, size, direction);
  const Turn turn = turn_of(event, asynchronous);
  const bool to_host = direction == ACL_MEMCPY_DEVICE_TO_HOST ||
                       (direction == ACL_MEMCPY_DEFAULT && memory_.is_host_memory(target));
  Access access{event,   false,        source,     size,       reads_device(direction),
                to_host, asynchronous, turn.actor, turn.stream};
  tell(access, turn.position);
  access.write = true;
  access.address = target;
  access.on_device = writes_device(direction);
  tell(access, turn.position);
  if (!event.succeeded()) return;
  memory_.copy_written(target, source, size, event.number);
  // With ordinary host memory the call returns when the copy is done.
  const auto is_pageable = [&](uint64_t address) {
    MemoryBook::Ranges::Range range;
    return !memory_.memory().find(address, range) && memory_.is_host_memory(address);
  };
  if (asynchronous && (is_pageable(source) || is_pageable(target)))
    streams_.order().join(Order::kHost, streams_.order().clock_of(turn.actor));
}

void CopyBook::copy_2d(const Event& event, bool asynchronous) {
  const uint64_t width = event.width(), height = event.height();
  if (width == 0 || height == 0 || height > kRowsMax) return;
  const uint64_t target_span = (height - 1) * event.target_pitch() + width;
  const uint64_t source_span = (height - 1) * event.source_pitch() + width;
  const Turn turn = turn_of(event, asynchronous);
  // Between the rows nothing is read, so nothing can be said of bytes that were not written.
  Access access{event, false,        event.source(), source_span, reads_device(event.direction()),
                false, asynchronous, turn.actor,     turn.stream};
  access.rows = height;
  access.width = width;
  access.pitch = event.source_pitch();
  tell(access, turn.position);
  access.write = true;
  access.address = event.target();
  access.size = target_span;
  access.on_device = writes_device(event.direction());
  access.pitch = event.target_pitch();
  tell(access, turn.position);
  if (!event.succeeded()) return;
  for (uint64_t row = 0; row < height; ++row)
    memory_.copy_written(event.target() + row * event.target_pitch(),
                         event.source() + row * event.source_pitch(), width, event.number);
}

void CopyBook::fill(const Event& event, uint64_t size, bool asynchronous) {
  if (size == 0) return;
  const Turn turn = turn_of(event, asynchronous);
  Access access{event, true, event.address(), size, true, false, asynchronous, turn.actor, turn.stream};
  access.signals = event.op == Op::aclrtValueWrite;
  tell(access, turn.position);
  if (event.succeeded()) memory_.set_written(event.address(), size, event.number);
}

void CopyBook::value_wait(const Event& event) {
  const Turn turn = turn_of(event, true);
  Access access{event, false, event.address(), kValueBytes, true, false, true, turn.actor, turn.stream};
  access.signals = true;
  tell(access, turn.position);
  if (event.succeeded()) streams_.value_awaited(event.address(), turn.position);
}

// The destination is read as well, which orders nothing that the write does not.
void CopyBook::reduce(const Event& event) {
  if (event.size() == 0) return;
  const Turn turn = turn_of(event, true);
  Access access{event, false, event.source(), event.size(), true, false, true, turn.actor, turn.stream};
  tell(access, turn.position);
  access.write = true;
  access.address = event.target();
  tell(access, turn.position);
  if (event.succeeded()) memory_.reduce_written(event.target(), event.source(), event.size());
}

// Moves pages, and changes none of their bytes; but the memory must be there when its turn comes.
void CopyBook::prefetch(const Event& event) {
  const Turn turn = turn_of(event, true);
  MemoryBook::Ranges::Range range;
  if (event.succeeded() && memory_.memory().find(event.address(), range))
    note_use(registry_.at(range.value), turn.position, event);
}

void CopyBook::apply(const Event& event) {
  switch (event.op) {
    case Op::aclrtMemcpy:
      return copy(event, event.target(), event.source(), event.size(), event.direction(), false);
    case Op::aclrtMemcpyAsync:
    case Op::aclrtMemcpyAsyncWithCondition:
      return copy(event, event.target(), event.source(), event.size(), event.direction(), true);
    case Op::MemcpyBatchEntry:
      return copy(event, event.target(), event.source(), event.size(), event.direction(),
                  event.stream() != 0);
    case Op::aclrtMemcpy2d:
      return copy_2d(event, false);
    case Op::aclrtMemcpy2dAsync:
      return copy_2d(event, true);
    case Op::aclrtSetMemcpyDesc:
      if (event.succeeded())
        descriptors_[event.descriptor()] = {event.target(), event.source(), event.size()};
      return;
    case Op::aclrtMemcpyAsyncWithDesc:
      if (const auto found = descriptors_.find(event.descriptor()); found != descriptors_.end())
        copy(event, found->second.target, found->second.source, found->second.size,
             ACL_MEMCPY_DEVICE_TO_DEVICE, true);
      return;
    case Op::aclrtMemset:
    case Op::aclrtMemsetD32:
      return fill(event, event.size(), false);
    case Op::aclrtMemsetAsync:
    case Op::aclrtMemsetD32Async:
      return fill(event, event.size(), true);
    case Op::aclrtValueWrite:
      fill(event, kValueBytes, true);
      if (event.succeeded())
        streams_.value_written(event.address(), streams_.actor_of(event, event.stream()));
      return;
    case Op::aclrtValueWait:
      return value_wait(event);
    case Op::aclrtReduceAsync:
      return reduce(event);
    case Op::aclrtMemManagedPrefetchAsync:
    case Op::ManagedPrefetchEntry:
      return prefetch(event);
    default:
      return;
  }
}

}  // namespace plat::inspect
