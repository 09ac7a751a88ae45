// SPDX-License-Identifier: Apache-2.0
// The groups of functions that make up the module, one file each.
#pragma once

#include "group.h"

namespace plat::acl_python {

void add_process(Group& acl);
void add_constants(Group& acl);
void add_toolkit(Group& acl);
void add_data(Group& acl);
void add_start_callbacks(Group& acl);
void add_util(Group& util);
void add_threads(Group& util);
void add_media(Group& media, Group& himpi);
void add_prof(Group& prof, Group& mdl);

// All of acl.rt.
void add_device(Group& rt);
void add_device_info(Group& rt);
void add_context(Group& rt);
void add_stream(Group& rt);
void add_stream_config(Group& rt);
void add_event(Group& rt);
void add_notify(Group& rt);
void add_callback(Group& rt);
void add_exception(Group& rt);
void add_state_callbacks(Group& rt);
void add_allocator(Group& rt);
void add_memory(Group& rt);
void add_managed(Group& rt);
void add_mbuf(Group& rt);
void add_snapshot(Group& rt);
void add_broken_memory(Group& rt);
void add_host(Group& rt);
void add_copy(Group& rt);
void add_copy_batch(Group& rt);
void add_cache(Group& rt);
void add_vmm(Group& rt);
void add_share(Group& rt);
void add_ipc(Group& rt);
void add_pools(Group& rt);

}  // namespace plat::acl_python
