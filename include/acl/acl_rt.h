// SPDX-License-Identifier: Apache-2.0
// The runtime: process, device, context, stream, event, callback, memory.
//
// Grouped into one header each; this one includes them all, as clients expect.
#pragma once

#include "acl_base.h"
#include "acl_rt_allocator.h"
#include "acl_rt_cache.h"
#include "acl_rt_callback.h"
#include "acl_rt_context.h"
#include "acl_rt_copy.h"
#include "acl_rt_device.h"
#include "acl_rt_device_id.h"
#include "acl_rt_device_info.h"
#include "acl_rt_device_limit.h"
#include "acl_rt_device_state.h"
#include "acl_rt_event.h"
#include "acl_rt_fault.h"
#include "acl_rt_host.h"
#include "acl_rt_ipc.h"
#include "acl_rt_lifecycle.h"
#include "acl_rt_managed.h"
#include "acl_rt_mbuf.h"
#include "acl_rt_memory.h"
#include "acl_rt_notify.h"
#include "acl_rt_process.h"
#include "acl_rt_snapshot.h"
#include "acl_rt_stream.h"
#include "acl_rt_vmm.h"
