// SPDX-License-Identifier: Apache-2.0
// Memory of other servers, as far as this process is concerned.
//
// A fabric handle of the own server is imported from the ledger. For one of another server somebody must ask
// that server and keep a count there; who that is, is decided where the Runtime is put together.
#pragma once

#include "rules/rules.h"
#include "share/fabric_handle.h"
#include "vmm/vmm.h"

namespace plat::share {

class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;
  // A handle of this process on what another server exported. It was looked at: it has our mark and version,
  // and names another server than ours. `device` (physical number) will reach the memory. Called under no
  // lock.
  virtual Result<vmm::PhysicalHandle> import_remote(vmm::Vmm& vmm, const FabricHandle& handle,
                                                    uint32_t device) = 0;
  // A fabric handle was made: another server may ask for the memory from now on. Called under no lock.
  virtual void exported() {}
  // After fork: connections are the parent's. Async-signal-safe.
  virtual void abandon_in_child() {}
};

// Where nobody reaches another server.
class NoRemoteMemory final : public RemoteMemory {
 public:
  Result<vmm::PhysicalHandle> import_remote(vmm::Vmm& vmm, const FabricHandle& handle, uint32_t) override {
    return fail(RuleId::FabricDaemon, "shareableHandle",
                "server {} exported the memory, this is server {}, and no fabric daemon is reachable here",
                handle.server, vmm.node().config().server);
  }
};

}  // namespace plat::share
