// SPDX-License-Identifier: Apache-2.0
// DeviceHeap: device memory that is allocated and freed in one call each.
//
// Blocks in normal pages come from a SmallHeap of their device; blocks in huge or giant pages are regions of
// their own. A pointer is looked up in the page table, so freeing needs no index of its own and a wild
// pointer is recognised.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "core/stable_array.h"
#include "device/config.h"
#include "device/ids.h"
#include "device/ledger.h"
#include "malloc/history.h"
#include "malloc/module_usage.h"
#include "malloc/small_heap.h"
#include "share/ipc.h"
#include "vmm/vmm.h"

namespace plat::malloc {

class DeviceHeap {
 public:
  DeviceHeap(vmm::Vmm& vmm, share::Ipc& ipc) : vmm_(vmm), ipc_(ipc) {}
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // `bank` is the device's physical number. `make_room` is asked when the device is full, before giving up:
  // whether somebody above gave anything back.
  using MakeRoom = std::function<bool()>;
  Result<Va> allocate(const BlockRequest& wanted, device::BankId bank, uint16_t module, Family family,
                      const MakeRoom& make_room = nullptr);
  // Its IPC keys end with it; memory that another process keeps is not used again. `how` names the call that
  // frees, for later messages.
  Result<> free(Va va, Family by, const char* how);

  // Frees every block of the device that no copy uses.
  void release_device(device::BankId bank, const char* how);

  struct Found {
    Va start;
    uint64_t block_bytes = 0;    // rounded as the call does
    uint64_t charged_bytes = 0;  // in whole pages
    Pages pages = Pages::Normal;
    BlockTag tag;
    device::BankId bank;
  };
  // The live block around an address.
  std::optional<Found> find(Va va);

  History& history() { return history_; }
  const ModuleUsage& usage(device::BankId bank) const { return usage_[bank.value]; }
  vmm::Vmm& vmm() { return vmm_; }

 private:
  SmallHeap& small(device::BankId bank);
  Result<> free_unshared(Va va, Family by, const char* how);
  void retire(Va va);
  Result<Va> allocate_large(const BlockRequest& wanted, device::BankId bank, const BlockTag& tag,
                            const device::BlockInfo& info);
  Result<> free_large(LargeBlock& block, Va start, const BlockTag& tag);
  LargeBlock* large_at(Va va) const;
  Error not_a_block(Va va);
  Result<> check_family(Family of, Family by, Va va) const;

  vmm::Vmm& vmm_;
  share::Ipc& ipc_;
  History history_;
  std::array<ModuleUsage, device::kMaxDevices> usage_;
  std::array<std::atomic<SmallHeap*>, device::kMaxDevices> small_{};
  std::mutex mutex_;  // guards what follows, and making a SmallHeap; a leaf
  core::StableArray<LargeBlock> large_;
};

}  // namespace plat::malloc
