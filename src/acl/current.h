// SPDX-License-Identifier: Apache-2.0
// What the calling thread uses, and what this process may use: questions that many groups of calls ask.
#pragma once

#include "acl/runtime.h"
#include "stream/streams.h"

namespace plat::acl {

// The device (physical number) of the calling thread's current context, or the rule that there is none.
inline Result<uint32_t> current_device(const Runtime& runtime) {
  PLAT_ASSIGN(device, runtime.streams.contexts().current_device());
  return static_cast<uint32_t>(device);
}

// The device, open and ready for a context. `id` is what the client calls it.
Result<uint32_t> open_device(Runtime& runtime, int32_t id);
// A context of the device is gone: nobody may use it any more if that was the last.
void close_device(Runtime& runtime, uint32_t device);

// From now on the one device may reach the other, as after aclrtDeviceEnablePeerAccess. Physical numbers; the
// host, and a device itself, need no leave.
void enable_peer(Runtime& runtime, uint32_t device, uint32_t peer);

// Products in RC form, and the oldest ones, have none of the VMM calls.
Error no_virtual_memory(const Runtime& runtime);
[[gnu::always_inline]] inline Result<> want_virtual_memory(const Runtime& runtime) {
  if (runtime.node.product().virtual_memory) [[likely]]
    return {};
  return forward(no_virtual_memory(runtime));
}

// Records and waits with flags.
inline Result<> want_event_flags(const Runtime& runtime) {
  if (runtime.node.product().hardware_scheduler) return {};
  return fail(RuleId::ProductSupport, "flag", "{} has no records and waits with flags",
              runtime.node.product().soc_name);
}

// To be passed what a wait returned: pools give idle memory back when a stream has been waited for, also if
// its work had errors.
inline Result<> settled(Runtime& runtime, Result<> waited) {
  runtime.pools.synchronized(runtime.streams);
  return waited;
}

}  // namespace plat::acl
