// SPDX-License-Identifier: Apache-2.0
// What a device's end, and the end of everything, takes with it.
#pragma once

#include "acl/runtime.h"

namespace plat::acl {

// Takes back the memory of a device (physical number) that this process holds: blocks, pools, keys, imports,
// mappings, handles and reservations. `how` names the call for later messages.
void release_memory(Runtime& runtime, uint32_t device, const char* how);
// The same for all devices, after what their streams were given has run.
void release_everything(Runtime& runtime, const char* how);

}  // namespace plat::acl
