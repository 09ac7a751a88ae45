// SPDX-License-Identifier: Apache-2.0
// Shareable handles: a 64-bit number for a physical handle, good for one machine.
#pragma once

#include <span>
#include <vector>

#include "device/bank.h"
#include "device/ids.h"
#include "device/node.h"
#include "vmm/vmm.h"

namespace plat::share {

// The exporter allows some pids, or everybody.
inline constexpr uint64_t kNoPidValidation = 1;
inline constexpr size_t kMaxPids = 65535;

// What was exported, for whoever makes a handle of it.
struct Share {
  uint64_t number = 0;
  uint64_t incarnation = 0;  // of this process in the ledger
  uint64_t size_bytes = 0;
  uint64_t page_bytes = 0;
};

// A fabric export has a key besides its number; 0 is an export for this machine alone. Who imports or
// whitelists must name the same one.
inline constexpr uint64_t kNoFabricKey = 0;

Result<> check_flags(uint64_t flags);
Result<Share> export_share(vmm::Vmm& vmm, vmm::PhysicalHandle handle, uint64_t flags, uint64_t fabric_key);
Result<> allow(vmm::Vmm& vmm, uint64_t number, std::span<const int32_t> pids,
               uint64_t fabric_key = kNoFabricKey);
// `device` (physical number) will reach the memory, wherever it lies.
Result<vmm::PhysicalHandle> import_handle(vmm::Vmm& vmm, uint64_t number, uint32_t device,
                                          uint64_t fabric_key = kNoFabricKey);

// For the daemon of this server: holds the block of a fabric export once more, whoever may import it, and
// says which it is.
Result<device::BlockId> hold_export(device::Bank& bank, uint64_t number, uint64_t fabric_key);

// Where the memory lies that a number stands for: a physical number, or kHostBank.
uint32_t device_of(uint64_t number);

// A random number for secrets; repeatable when the user chose a seed.
uint64_t secret(device::Node& node);

// Checks a list of pids and leaves out zeros.
Result<std::vector<int32_t>> usable_pids(std::span<const int32_t> pids);

}  // namespace plat::share
