// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/stream_book.h"

#include "acl/acl.h"

namespace plat::inspect {

namespace {

// The default stream of a device, under a number that no handle has.
uint64_t default_stream(int32_t device) { return ~uint64_t{0} - static_cast<uint32_t>(device); }

// Whether a wait or a question ended with "it is done". A wait that reports the failure of a task is over
// too.
bool is_complete(const Event& event) {
  if (event.result == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT || event.result == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT)
    return false;
  switch (event.op) {
    case Op::aclrtStreamQuery:
      return event.succeeded() && event.status() == ACL_STREAM_STATUS_COMPLETE;
    case Op::aclrtQueryEvent:
      return event.succeeded() && event.status() == ACL_EVENT_STATUS_COMPLETE;
    case Op::aclrtQueryEventStatus:
      return event.succeeded() && event.status() == ACL_EVENT_RECORDED_STATUS_COMPLETE;
    case Op::aclrtStreamAbort:
    case Op::aclrtDeviceTaskAbort:
      return event.succeeded();
    default:
      return true;
  }
}

}  // namespace

uint32_t StreamBook::actor_of(const Event& event, uint64_t stream) {
  if (stream == 0) stream = default_stream(registry_.device_of(event.thread));
  const auto found = actors_.find(stream);
  if (found != actors_.end()) return found->second;
  return actors_[stream] = order_.new_actor();
}

uint64_t StreamBook::launch_of_work(uint32_t thread) const {
  const auto found = running_.find(thread);
  return found != running_.end() ? found->second : 0;
}

void StreamBook::wait_begins(const Event& event) {
  switch (event.op) {
    case Op::aclrtSynchronizeDevice:
    case Op::aclrtSynchronizeDeviceWithTimeout:
    case Op::aclrtDeviceTaskAbort:  // of one device; for others too it may hide a race, and invents none
      waits_[event.thread] = order_.everything();
      return;
    case Op::aclrtSynchronizeStream:
    case Op::aclrtSynchronizeStreamWithTimeout:
    case Op::aclrtStreamAbort:
    case Op::aclrtStreamQuery:
      waits_[event.thread] = order_.clock_of(actor_of(event, event.stream()));
      return;
    case Op::aclrtSynchronizeEvent:
    case Op::aclrtSynchronizeEventWithTimeout:
    case Op::aclrtQueryEvent:
    case Op::aclrtQueryEventStatus:
      waits_[event.thread] = recorded_[event.event_handle()];
      return;
    default:
      return;
  }
}

void StreamBook::wait_ends(const Event& event) {
  const auto found = waits_.find(event.thread);
  if (found == waits_.end()) return;
  if (is_complete(event)) order_.join(Order::kHost, found->second);
  waits_.erase(found);
}

void StreamBook::create(const Event& event, Kind kind, uint64_t handle) {
  if (!event.succeeded()) return;
  if (kind == Kind::Context) {
    const auto device = static_cast<int32_t>(event.device());
    contexts_[handle] = device;
    registry_.set_device(event.thread, device);
  }
  Object& object = registry_.add(event, kind, handle, 0);
  registry_.name(kind, handle, object);
  if (kind == Kind::Stream) actors_.erase(handle);
  if (kind == Kind::Event) recorded_.erase(handle);
  registry_.listener().born(object);
}

void StreamBook::forget(const Object& object) {
  if (object.kind == Kind::Stream) forget_stream(object.start);
  if (object.kind == Kind::Event) recorded_.erase(object.start);
  if (object.kind == Kind::Context) contexts_.erase(object.start);
}

void StreamBook::forget_stream(uint64_t stream) {
  const auto found = actors_.find(stream);
  if (found == actors_.end()) return;
  order_.retire(found->second);
  actors_.erase(found);
}

void StreamBook::apply(const Event& event) {
  if (event.begins) return wait_begins(event);
  switch (event.op) {
    case Op::aclrtSynchronizeDevice:
    case Op::aclrtSynchronizeDeviceWithTimeout:
    case Op::aclrtDeviceTaskAbort:
    case Op::aclrtSynchronizeStream:
    case Op::aclrtSynchronizeStreamWithTimeout:
    case Op::aclrtStreamAbort:
    case Op::aclrtStreamQuery:
    case Op::aclrtSynchronizeEvent:
    case Op::aclrtSynchronizeEventWithTimeout:
    case Op::aclrtQueryEvent:
    case Op::aclrtQueryEventStatus:
      return wait_ends(event);
    case Op::aclrtCreateStream:
    case Op::aclrtCreateStreamWithConfig:
    case Op::aclrtCreateStreamV2:
      return create(event, Kind::Stream, event.stream());
    case Op::aclrtCreateEvent:
    case Op::aclrtCreateEventWithFlag:
    case Op::aclrtCreateEventExWithFlag:
    case Op::aclrtIpcOpenEventHandle:
      return create(event, Kind::Event, event.event_handle());
    case Op::aclrtCreateContext:
      return create(event, Kind::Context, event.context());
    case Op::aclrtMemPoolCreate:
      return create(event, Kind::Pool, event.pool());
    case Op::aclrtSetCurrentContext:
      if (const auto found = contexts_.find(event.context()); event.succeeded() && found != contexts_.end())
        registry_.set_device(event.thread, found->second);
      return;
    case Op::aclrtCtxGetCurrentDefaultStream:
      if (event.succeeded()) actors_[event.stream()] = actor_of(event, 0);
      return;
    case Op::aclrtDestroyContext:
      return registry_.destroy(event, Kind::Context, event.context());
    case Op::aclrtMemPoolDestroy:
      return registry_.destroy(event, Kind::Pool, event.pool());
    case Op::aclrtDestroyEvent:
      return registry_.destroy(event, Kind::Event, event.event_handle());
    case Op::aclrtDestroyStream:
    case Op::aclrtDestroyStreamForce:
      // It has waited for its work, or thrown it away.
      if (event.succeeded()) forget_stream(event.stream());
      return registry_.destroy(event, Kind::Stream, event.stream());
    case Op::aclrtRecordEvent:
    case Op::aclrtRecordEventWithFlag: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event.stream());
      order_.act(actor);
      recorded_[event.event_handle()] = order_.clock_of(actor);
      return;
    }
    case Op::aclrtStreamWaitEvent:
    case Op::aclrtStreamWaitEventWithTimeout:
    case Op::aclrtStreamWaitEventWithFlag: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event.stream());
      order_.act(actor);
      order_.join(actor, recorded_[event.event_handle()]);
      return;
    }
    case Op::aclrtRecordNotify:
    case Op::aclrtCntNotifyRecord: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event.stream());
      order_.act(actor);
      notified_[event.notify()].join(order_.clock_of(actor));
      return;
    }
    case Op::aclrtWaitAndResetNotify:
    case Op::aclrtCntNotifyWaitWithTimeout: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event.stream());
      // The record may come later, or from another process. Then it is after anything, as far as is known
      // here, and what it orders with is in doubt.
      order_.doubt(order_.act(actor));
      const auto found = notified_.find(event.notify());
      order_.join(actor, found != notified_.end() ? found->second : order_.everything());
      return;
    }
    case Op::aclrtDestroyNotify:
    case Op::aclrtCntNotifyDestroy:
      if (event.succeeded()) notified_.erase(event.notify());
      return;
    case Op::aclrtLaunchCallback:
    case Op::aclrtLaunchHostFunc: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event.stream());
      order_.act(actor);
      host_work_[event.work()] = {order_.clock_of(actor), event.number};
      return;
    }
    case Op::HostWork:
      if (const auto found = host_work_.find(event.work()); found != host_work_.end()) {
        order_.join(Order::kHost, found->second.before);
        running_[event.thread] = found->second.launched;
        host_work_.erase(found);
      }
      return;
    case Op::HostWorkEnd:
      running_.erase(event.thread);
      return;
    default:
      return;
  }
}

}  // namespace plat::inspect
