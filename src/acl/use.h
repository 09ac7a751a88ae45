// What this thread and this process use: questions that many groups of calls ask.
#pragma once

#include "acl/runtime.h"
#include "stream/streams.h"

namespace plat::acl {

// The device (physical number) of the calling thread's current context, or the rule that there is none.
inline Result<uint32_t> current_device(const Runtime& runtime) {
  PLAT_ASSIGN(device, runtime.streams.current_device());
  return static_cast<uint32_t>(device);
}

// From now on the one device may reach the other, as after aclrtDeviceEnablePeerAccess. Physical numbers; the
// host, and a device itself, need no leave.
void enable_peer(Runtime& runtime, uint32_t device, uint32_t peer);

// Takes back the memory of a device (physical number) that this process holds: blocks, pools, keys, imports,
// mappings, handles and reservations. `how` names the call for later messages.
void release_memory(Runtime& runtime, uint32_t device, const char* how);
// The same for all devices, after what their streams were given has run.
void release_everything(Runtime& runtime, const char* how);

// Products in RC form, and the oldest ones, have none of the VMM calls.
Result<> want_virtual_memory(Runtime& runtime);

}  // namespace plat::acl
