// SPDX-License-Identifier: Apache-2.0
// The objects of a model, each under an id. Ids of what was swept away are used again, so that a long trace
// takes no more room than a short one with as much in it.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "inspect/model/object.h"

namespace plat::inspect {

class Objects {
 public:
  // One with an id and a serial number, and nothing else.
  Object& add();
  Object& operator[](ObjectId id) { return slots_[id - 1]; }
  const Object& operator[](ObjectId id) const { return slots_[id - 1]; }

  // How many there are, alive or not.
  size_t size() const { return slots_.size() - free_.size(); }
  // visit(object) for each of them.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Object& object : slots_)
      if (object.id != 0) visit(object);
  }
  // Those that live, in the order of their birth.
  std::vector<ObjectId> living() const;

  // A sweep: whoever has a use for an object that is dead keeps it, then the others go. Those that live stay
  // by themselves, and so do the parents of those that stay.
  void begin_sweep();
  void keep(ObjectId id);
  void end_sweep();
  // How many came since the last one.
  size_t added_since_sweep() const { return added_; }

 private:
  std::deque<Object> slots_;  // they never move
  std::vector<ObjectId> free_;
  std::vector<bool> kept_;
  uint64_t serial_ = 0;
  size_t added_ = 0;
};

}  // namespace plat::inspect
