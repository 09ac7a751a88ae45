// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/objects.h"

namespace plat::inspect {

Object& Objects::add() {
  if (free_.empty()) {
    slots_.emplace_back();
    free_.push_back(static_cast<ObjectId>(slots_.size()));
  }
  Object& object = (*this)[free_.back()];
  object.id = free_.back();
  object.serial = ++serial_;
  free_.pop_back();
  ++added_;
  return object;
}

std::vector<ObjectId> Objects::living() const {
  std::vector<ObjectId> ids;
  for_each([&](const Object& object) {
    if (object.lives()) ids.push_back(object.id);
  });
  std::sort(ids.begin(), ids.end(),
            [&](ObjectId a, ObjectId b) { return (*this)[a].serial < (*this)[b].serial; });
  return ids;
}

void Objects::begin_sweep() {
  kept_.assign(slots_.size(), false);
  for_each([&](const Object& object) {
    if (object.lives()) keep(object.id);
  });
}

void Objects::keep(ObjectId id) {
  if (id == 0 || kept_[id - 1]) return;
  kept_[id - 1] = true;
  keep((*this)[id].parent);
}

void Objects::end_sweep() {
  for (ObjectId id = 1; id <= slots_.size(); ++id) {
    if (kept_[id - 1] || (*this)[id].id == 0) continue;
    (*this)[id] = Object{};
    free_.push_back(id);
  }
  added_ = 0;
}

}  // namespace plat::inspect
