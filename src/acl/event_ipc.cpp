// SPDX-License-Identifier: Apache-2.0
// Events between processes.
#include <cstring>

#include "acl/acl_rt_event.h"
#include "acl/current.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::EventId;

namespace {

Result<> want_ipc_events(const Runtime& runtime) {
  if (runtime.node.product().ipc_events) return {};
  return fail(RuleId::ProductSupport, "", "{} has no events between processes",
              runtime.node.product().soc_name);
}

}  // namespace

extern "C" {

aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle) {
  return entry("aclrtIpcGetEventHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(handle, "handle"));
    PLAT_TRY(want(event, "event"));
    PLAT_TRY(want_ipc_events(runtime));
    PLAT_ASSIGN(bits, runtime.streams.events().export_bits(stream::id_of<EventId>(event)));
    std::memcpy(handle->reserved, &bits, sizeof(bits));
    return {};
  });
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  return entry("aclrtIpcOpenEventHandle", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(event, "event"));
    PLAT_TRY(want_ipc_events(runtime));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    uint64_t bits = 0;
    std::memcpy(&bits, handle.reserved, sizeof(bits));
    PLAT_ASSIGN(id, runtime.streams.events().import_bits(bits));
    PLAT_ASSIGN(exporter, runtime.streams.events().device_of(id));
    acl::enable_peer(runtime, device, static_cast<uint32_t>(exporter));
    *event = handle_of(id);
    return {};
  });
}

}  // extern "C"
