// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/object.h"

namespace plat::inspect {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::DeviceBlock:
      return "device block";
    case Kind::HostBlock:
      return "host block";
    case Kind::HostRegistration:
      return "host registration";
    case Kind::PoolBlock:
      return "pool block";
    case Kind::Import:
      return "imported block";
    case Kind::Physical:
      return "physical handle";
    case Kind::Reservation:
      return "reservation";
    case Kind::Mapping:
      return "mapping";
    case Kind::Heap:
      return "heap";
    case Kind::Region:
      return "region";
    case Kind::Stream:
      return "stream";
    case Kind::Event:
      return "event";
    case Kind::Context:
      return "context";
    case Kind::Pool:
      return "pool";
    case Kind::ManagedBlock:
      return "managed block";
    case Kind::Mbuf:
      return "mbuf";
  }
  return "object";
}

Site Site::of(const Event& event) {
  return {event.number, event.time_ns, event.thread, event.stack, event.op};
}

}  // namespace plat::inspect
