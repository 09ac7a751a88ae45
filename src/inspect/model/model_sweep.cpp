// What is forgotten, and when: at once what no later event can ask about, handles by their age, and objects
// when nothing names them any more.
#include "inspect/model/model.h"

namespace plat::inspect {

namespace {

// What the object was called by the handle that dies with it.
uint64_t handle_of(const Object& object) {
  return object.kind == Kind::Heap || object.kind == Kind::Region ? object.number : object.start;
}

}  // namespace

void Model::name(Kind kind, uint64_t handle, const Object& object) { handles_[{kind, handle}] = object.id; }

// With the object goes what is known only about it.
void Model::forget_with(Object& object) {
  switch (object.kind) {
    case Kind::Mapping: {
      Object& handle = at(object.parent);
      if (--handle.mappings == 0 && !handle.lives()) handle.written.clear();
      break;
    }
    case Kind::Stream:
      forget_stream(object.start);
      break;
    case Kind::Event:
      recorded_.erase(object.start);
      break;
    case Kind::Context:
      contexts_.erase(object.start);
      break;
    default:
      break;
  }
  if (object.mappings == 0) object.written.clear();
  if (object.view != 0) views_.erase(object.view, object.view + object.size);
  const Handle handle{object.kind, handle_of(object)};
  if (known(handle.first, handle.second) != &object) return;
  dead_handles_.push_back({handle, object.serial});
  forget_handles();
}

void Model::forget_stream(uint64_t stream) {
  const auto found = actors_.find(stream);
  if (found == actors_.end()) return;
  order_.retire(found->second);
  actors_.erase(found);
}

void Model::forget_handles() {
  for (size_t tries = 2; tries > 0 && dead_handles_.size() > kDeadHandles; --tries) {
    const DeadHandle oldest = dead_handles_.front();
    dead_handles_.pop_front();
    const Object* const object = known(oldest.handle.first, oldest.handle.second);
    const bool used_again = object == nullptr || object->serial != oldest.serial || object->lives();
    if (used_again) continue;
    if (object->mappings > 0) {
      dead_handles_.push_back(oldest);  // the program can have it back, by way of its mapping
    } else {
      handles_.erase(oldest.handle);
    }
  }
}

void Model::sweep() {
  objects_.begin_sweep();
  const auto keep = [&](uint64_t, uint64_t, ObjectId id) { objects_.keep(id); };
  for (const Ranges* const ranges : {&memory_, &freed_memory_, &reservations_}) ranges->for_each(keep);
  for (const auto& [name, layer] : layers_)
    for (const Ranges* const ranges : {&layer.heaps, &layer.regions, &layer.freed}) ranges->for_each(keep);
  for (const auto& [handle, id] : handles_) objects_.keep(id);
  for (const auto& [key, id] : imports_) objects_.keep(id);
  objects_.end_sweep();
  left_by_sweep_ = objects_.size();
}

}  // namespace plat::inspect
