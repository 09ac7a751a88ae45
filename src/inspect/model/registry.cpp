// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/registry.h"

#include <fmt/format.h>

namespace plat::inspect {

namespace {

// What the object was called by the handle that dies with it.
uint64_t handle_of(const Object& object) {
  return object.kind == Kind::Heap || object.kind == Kind::Region ? object.number : object.start;
}

}  // namespace

Object& Registry::add(const Event& event, Kind kind, uint64_t start, uint64_t size) {
  Object& object = objects_.add();
  object.kind = kind;
  object.start = start;
  object.size = object.usable = size;
  object.born = Site::of(event);
  object.replayed = replaying_;
  object.device = device_of(event.thread);
  return object;
}

void Registry::end(const Event& event, Object& object) {
  const bool lived = object.lives();
  object.died = Site::of(event);
  if (lived) {
    forget_(object);
    bury_handle(object);
  }
  listener_.died(object);
}

Object* Registry::known(Kind kind, uint64_t handle) {
  const auto found = handles_.find({kind, handle});
  return found != handles_.end() ? &at(found->second) : nullptr;
}

Object* Registry::live(Kind kind, uint64_t handle) {
  Object* const object = known(kind, handle);
  return object != nullptr && object->lives() ? object : nullptr;
}

void Registry::destroy(const Event& event, Kind kind, uint64_t handle) {
  Object* const object = known(kind, handle);
  if (object == nullptr) return;  // made before the recorder came, or a default one
  if (!object->lives()) {
    problem(RuleId::GivenBackTwice, event,
            fmt::format("the {} {:#x} was destroyed before", name_of(kind), handle), object);
    return;
  }
  if (event.succeeded()) end(event, *object);
}

void Registry::problem(RuleId rule, const Event& event, std::string detail, const Object* object,
                       const Object* other) {
  listener_.problem({rule, event, std::move(detail), object != nullptr ? object->id : 0,
                     other != nullptr ? other->id : 0, object != nullptr ? object->start : 0,
                     object != nullptr ? object->size : 0});
}

int32_t Registry::device_of(uint32_t thread) const {
  const auto found = devices_.find(thread);
  return found != devices_.end() ? found->second : 0;
}

bool Registry::is_sweep_due() const {
  const size_t enough = sweep_after_ == 0 ? 0 : std::max(sweep_after_, left_by_sweep_);
  return objects_.added_since_sweep() >= enough;
}

void Registry::bury_handle(const Object& object) {
  const Handle handle{object.kind, handle_of(object)};
  if (known(handle.first, handle.second) != &object) return;
  dead_handles_.push_back({handle, object.serial});
  for (size_t tries = 2; tries > 0 && dead_handles_.size() > kDeadHandles; --tries) {
    const DeadHandle oldest = dead_handles_.front();
    dead_handles_.pop_front();
    const Object* const dead = known(oldest.handle.first, oldest.handle.second);
    const bool used_again = dead == nullptr || dead->serial != oldest.serial || dead->lives();
    if (used_again) continue;
    if (dead->mappings > 0) {
      dead_handles_.push_back(oldest);  // the program can have it back, by way of its mapping
    } else {
      handles_.erase(oldest.handle);
    }
  }
}

}  // namespace plat::inspect
