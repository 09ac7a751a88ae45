// SPDX-License-Identifier: Apache-2.0
// Fabric handles: export, whitelist and import of memory that all servers of a super-pod can reach.
#pragma once

#include <span>

#include "share/fabric_handle.h"
#include "share/remote_memory.h"
#include "vmm/vmm.h"

namespace plat::share {

// Whether the devices of this machine are part of a super-pod.
Result<> want_fabric(const vmm::Vmm& vmm);
// Whether the bytes are a fabric handle that this library understands.
Result<FabricHandle> read_fabric(const void* bytes);

Result<FabricHandle> export_fabric(vmm::Vmm& vmm, vmm::PhysicalHandle handle, uint64_t flags);
Result<> allow_fabric(vmm::Vmm& vmm, const FabricHandle& handle, std::span<const int32_t> pids);
// From this server, or through `remote` from another one.
Result<vmm::PhysicalHandle> import_fabric(vmm::Vmm& vmm, const FabricHandle& handle, uint32_t device,
                                          RemoteMemory& remote);

}  // namespace plat::share
