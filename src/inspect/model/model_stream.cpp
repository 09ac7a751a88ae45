// Streams, events, waiting, and work of the host.
#include "inspect/model/model.h"

namespace plat::inspect {

namespace {

// The default stream of a device, under a number that no handle has.
uint64_t default_stream(int32_t device) { return ~uint64_t{0} - static_cast<uint32_t>(device); }

// What a wait returns whose time has run out.
constexpr int kStreamTimeout = 507046;
constexpr int kEventTimeout = 507047;

// Whether a wait or a question ended with "it is done". A wait that reports the failure of a task is over
// too.
bool is_complete(const Event& event) {
  if (event.result == kStreamTimeout || event.result == kEventTimeout) return false;
  if (event.op == Op::aclrtStreamQuery || event.op == Op::aclrtQueryEvent)
    return event.succeeded() && event[1] == 0;
  if (event.op == Op::aclrtQueryEventStatus) return event.succeeded() && event[1] == 1;
  return true;
}

}  // namespace

uint32_t Model::actor_of(const Event& event, uint64_t stream) {
  if (stream == 0) {
    const auto device = devices_.find(event.thread);
    stream = default_stream(device != devices_.end() ? device->second : 0);
  }
  const auto found = actors_.find(stream);
  if (found != actors_.end()) return found->second;
  return actors_[stream] = order_.new_actor();
}

void Model::wait_begins(const Event& event) {
  switch (event.op) {
    case Op::aclrtSynchronizeDevice:
    case Op::aclrtSynchronizeDeviceWithTimeout:
      waits_[event.thread] = order_.everything();
      return;
    case Op::aclrtSynchronizeStream:
    case Op::aclrtSynchronizeStreamWithTimeout:
    case Op::aclrtStreamQuery:
      waits_[event.thread] = order_.clock_of(actor_of(event, event[0]));
      return;
    case Op::aclrtSynchronizeEvent:
    case Op::aclrtSynchronizeEventWithTimeout:
    case Op::aclrtQueryEvent:
    case Op::aclrtQueryEventStatus:
      waits_[event.thread] = recorded_[event[0]];
      return;
    default:
      return;
  }
}

void Model::wait_ends(const Event& event) {
  const auto found = waits_.find(event.thread);
  if (found == waits_.end()) return;
  if (is_complete(event)) order_.join(Order::kHost, found->second);
  waits_.erase(found);
}

void Model::apply_stream(const Event& event) {
  if (event.begins) return wait_begins(event);
  switch (event.op) {
    case Op::aclrtSynchronizeDevice:
    case Op::aclrtSynchronizeDeviceWithTimeout:
    case Op::aclrtSynchronizeStream:
    case Op::aclrtSynchronizeStreamWithTimeout:
    case Op::aclrtStreamQuery:
    case Op::aclrtSynchronizeEvent:
    case Op::aclrtSynchronizeEventWithTimeout:
    case Op::aclrtQueryEvent:
    case Op::aclrtQueryEventStatus:
      return wait_ends(event);
    case Op::aclrtCreateStream:
    case Op::aclrtCreateStreamWithConfig:
    case Op::aclrtCreateStreamV2:
    case Op::aclrtCreateEvent:
    case Op::aclrtCreateEventWithFlag:
    case Op::aclrtCreateEventExWithFlag:
    case Op::aclrtCreateContext:
    case Op::aclrtMemPoolCreate: {
      if (!event.succeeded()) return;
      const bool event_kind = event.op == Op::aclrtCreateEvent || event.op == Op::aclrtCreateEventWithFlag ||
                              event.op == Op::aclrtCreateEventExWithFlag;
      const Kind kind = event.op == Op::aclrtCreateContext   ? Kind::Context
                        : event.op == Op::aclrtMemPoolCreate ? Kind::Pool
                        : event_kind                         ? Kind::Event
                                                             : Kind::Stream;
      if (kind == Kind::Context) {
        contexts_[event[0]] = devices_[event.thread] = static_cast<int32_t>(event[1]);
      }
      Object& object = add(event, kind, event[0], 0);
      name(kind, event[0], object);
      if (kind == Kind::Stream) actors_.erase(event[0]);
      if (kind == Kind::Event) recorded_.erase(event[0]);
      listener_.born(object);
      return;
    }
    case Op::aclrtSetCurrentContext:
      if (const auto found = contexts_.find(event[0]); event.succeeded() && found != contexts_.end())
        devices_[event.thread] = found->second;
      return;
    case Op::aclrtCtxGetCurrentDefaultStream:
      if (event.succeeded()) actors_[event[0]] = actor_of(event, 0);
      return;
    case Op::aclrtDestroyContext:
      return destroy(event, Kind::Context);
    case Op::aclrtMemPoolDestroy:
      return destroy(event, Kind::Pool);
    case Op::aclrtDestroyEvent:
      return destroy(event, Kind::Event);
    case Op::aclrtDestroyStream:
    case Op::aclrtDestroyStreamForce:
      // It has waited for its work, or thrown it away.
      if (event.succeeded()) forget_stream(event[0]);
      return destroy(event, Kind::Stream);
    case Op::aclrtRecordEvent: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event[1]);
      order_.act(actor);
      recorded_[event[0]] = order_.clock_of(actor);
      return;
    }
    case Op::aclrtStreamWaitEvent:
    case Op::aclrtStreamWaitEventWithTimeout: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event[0]);
      order_.act(actor);
      order_.join(actor, recorded_[event[1]]);
      return;
    }
    case Op::aclrtLaunchCallback:
    case Op::aclrtLaunchHostFunc: {
      if (!event.succeeded()) return;
      const uint32_t actor = actor_of(event, event[1]);
      order_.act(actor);
      host_work_[event[0]] = order_.clock_of(actor);
      return;
    }
    case Op::HostWork:
      if (const auto found = host_work_.find(event[0]); found != host_work_.end()) {
        order_.join(Order::kHost, found->second);
        host_work_.erase(found);
      }
      return;
    default:
      return;
  }
}

}  // namespace plat::inspect
