// SPDX-License-Identifier: Apache-2.0
// Where the work of a call is queued: the stream, and the current device that does it.
#pragma once

#include "acl/acl_rt.h"
#include "acl/current.h"
#include "copy/copies.h"
#include "stream/ids.h"

namespace plat::acl {

[[gnu::always_inline]] inline Result<copy::Copies::Queue> queue_of(Runtime& runtime, aclrtStream stream) {
  PLAT_ASSIGN(device, current_device(runtime));
  return copy::Copies::Queue{runtime.streams, stream::id_of<stream::StreamId>(stream), device};
}

}  // namespace plat::acl
