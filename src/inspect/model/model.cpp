// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/model.h"

#include <fmt/format.h>

namespace plat::inspect {

Object& Model::add(const Event& event, Kind kind, uint64_t start, uint64_t size) {
  Object& object = objects_.add();
  object.kind = kind;
  object.start = start;
  object.size = object.usable = size;
  object.born = Site::of(event);
  object.replayed = replaying_;
  if (const auto device = devices_.find(event.thread); device != devices_.end())
    object.device = device->second;
  return object;
}

void Model::end(const Event& event, Object& object) {
  const bool lived = object.lives();
  object.died = Site::of(event);
  if (lived) forget_with(object);
  listener_.died(object);
}

Object* Model::known(Kind kind, uint64_t handle) {
  const auto found = handles_.find({kind, handle});
  return found != handles_.end() ? &at(found->second) : nullptr;
}

Object* Model::live(Kind kind, uint64_t handle) {
  Object* const object = known(kind, handle);
  return object != nullptr && object->lives() ? object : nullptr;
}

void Model::problem(RuleId rule, const Event& event, std::string detail, const Object* object,
                    const Object* other) {
  // What was registered while nobody listened may be taken back later.
  if (rule == RuleId::MstxReference && missed_) return;
  listener_.problem({rule, event, std::move(detail), object != nullptr ? object->id : 0,
                     other != nullptr ? other->id : 0, object != nullptr ? object->start : 0,
                     object != nullptr ? object->size : 0});
}

// Streams, events, contexts and pools: things with a handle and nothing else.
void Model::destroy(const Event& event, Kind kind) {
  Object* const object = known(kind, event[0]);
  if (object == nullptr) return;  // made before the recorder came, or a default one
  if (!object->lives()) {
    problem(RuleId::FreeTwice, event,
            fmt::format("the {} {:#x} was destroyed before", name_of(kind), event[0]), object);
    return;
  }
  if (event.succeeded()) end(event, *object);
}

bool Model::is_view(uint64_t address) const {
  RangeMap<char>::Range range;
  return views_.find(address, range);
}

bool Model::is_opaque(uint64_t address) const {
  Ranges::Range range;
  if (!memory_.find(address, range)) return true;
  const Object& holder = object(range.value);
  return holder.opaque || (holder.kind == Kind::Mapping && object(holder.parent).opaque);
}

// Whether work of other streams may still be using what goes now.
void Model::check_in_flight(const Event& event, const Object& object, uint32_t actor) {
  for (const Use& use : object.uses) {
    if (order_.is_before(use.position, actor)) continue;
    problem(RuleId::OrderFreeInFlight, event,
            fmt::format("{} of event {} was queued on another stream and nothing says that it is over",
                        info_of(use.site.op).name, use.site.event),
            &object);
    return;
  }
}

void Model::apply(const Event& event) {
  const size_t enough = sweep_after_ == 0 ? 0 : std::max(sweep_after_, left_by_sweep_);
  if (objects_.added_since_sweep() >= enough) sweep();
  listener_.event(event);
  apply_memory(event);
  apply_vmm(event);
  apply_copy(event);
  apply_stream(event);
  apply_mstx(event);
}

}  // namespace plat::inspect
