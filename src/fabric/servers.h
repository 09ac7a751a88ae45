// SPDX-License-Identifier: Apache-2.0
// Servers: memory of other servers, for this process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "device/config.h"
#include "fabric/daemon.h"
#include "share/remote_memory.h"
#include "vmm/physical.h"
#include "vmm/vmm.h"

namespace plat::fabric {

class Servers final : public share::RemoteMemory {
 public:
  explicit Servers(const device::Config& config);

  Result<vmm::PhysicalHandle> import_remote(vmm::Vmm& vmm, const share::FabricHandle& handle,
                                            uint32_t device) override;
  // Where a table of servers is set, the daemon runs afterwards; if it cannot, that is said once.
  void exported() override;
  void abandon_in_child() override;

 private:
  Result<std::shared_ptr<Daemon>> daemon(Deadline& deadline);
  Result<bool> wait_for_others(std::unique_lock<std::mutex>& lock, Deadline& deadline);
  Result<std::shared_ptr<Daemon>> meet(Deadline& deadline);
  Result<> start();

  const Daemon::Where where_;
  const bool may_start_;  // the daemon, if it does not run
  std::atomic<bool> cannot_start_{false};
  std::mutex mutex_;  // guards those below; not held while the daemon is called
  std::condition_variable changed_;
  bool meeting_ = false;            // a thread calls it, or starts it
  bool starting_ = false;           // it starts it
  std::optional<Error> not_met_;    // why the last meeting failed
  std::shared_ptr<Daemon> daemon_;  // this life of it; imports of an earlier one keep theirs
  std::atomic<Daemon*> in_child_{nullptr};
};

}  // namespace plat::fabric
