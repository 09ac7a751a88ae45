// SPDX-License-Identifier: Apache-2.0
// All objects of a model and the handles by which programs name them, shared by its books.
//
// Of what is dead it keeps what may still be asked about: the handles that were given back last, and what a
// book names when it is asked (sweep). The rest is swept away from time to time, so that what a model takes
// depends on what lives together and not on how long the trace is.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "inspect/model/listener.h"
#include "inspect/model/objects.h"

namespace plat::inspect {

class Registry {
 public:
  // How many handles that were given back are known at a time. Older ones are as unknown as any number.
  static constexpr size_t kDeadHandles = 1 << 16;
  // Told of an object that dies, so that its book forgets what is known only about it.
  using Forget = std::function<void(Object&)>;

  Registry(Listener& listener, size_t sweep_after, Forget forget)
      : listener_(listener), sweep_after_(sweep_after), forget_(std::move(forget)) {}

  Listener& listener() { return listener_; }
  const Objects& objects() const { return objects_; }
  Object& at(ObjectId id) { return objects_[id]; }
  const Object& at(ObjectId id) const { return objects_[id]; }

  Object& add(const Event& event, Kind kind, uint64_t start, uint64_t size);
  void end(const Event& event, Object& object);

  void name(Kind kind, uint64_t handle, const Object& object) { handles_[{kind, handle}] = object.id; }
  Object* live(Kind kind, uint64_t handle);
  // The last object of this kind that had the handle, alive or not.
  Object* known(Kind kind, uint64_t handle);
  // For things with a handle and nothing else: streams, events, contexts and pools.
  void destroy(const Event& event, Kind kind, uint64_t handle);

  void problem(RuleId rule, const Event& event, std::string detail, const Object* object = nullptr,
               const Object* other = nullptr);

  // The current device of a thread.
  int32_t device_of(uint32_t thread) const;
  void set_device(uint32_t thread, int32_t device) { devices_[thread] = device; }

  bool is_sweep_due() const;
  // keep_named(keep) calls keep(id) for every object that a book may still be asked about.
  template <class KeepNamed>
  void sweep(KeepNamed&& keep_named) {
    objects_.begin_sweep();
    keep_named([&](ObjectId id) { objects_.keep(id); });
    for (const auto& [handle, id] : handles_) objects_.keep(id);
    objects_.end_sweep();
    left_by_sweep_ = objects_.size();
  }

  // What is told as if it happened now is older than that.
  void set_replaying(bool replaying) { replaying_ = replaying; }

 private:
  void bury_handle(const Object& object);

  Listener& listener_;
  size_t sweep_after_;
  Forget forget_;
  size_t left_by_sweep_ = 0;
  Objects objects_;
  using Handle = std::pair<Kind, uint64_t>;
  std::map<Handle, ObjectId> handles_;
  struct DeadHandle {
    Handle handle;
    uint64_t serial;
  };
  std::deque<DeadHandle> dead_handles_;  // oldest first
  std::map<uint32_t, int32_t> devices_;  // by thread
  bool replaying_ = false;
};

}  // namespace plat::inspect
