// SPDX-License-Identifier: Apache-2.0
// Shareable handles: a 64-bit number for a physical handle, good for one machine.
#pragma once

#include <span>

#include "vmm/vmm.h"

namespace plat::share {

// The exporter allows some pids, or everybody.
inline constexpr uint64_t kNoPidValidation = 1;
inline constexpr size_t kMaxPids = 65535;

Result<uint64_t> export_handle(vmm::Vmm& vmm, vmm::PhysicalHandle handle, uint64_t flags);
Result<> allow(vmm::Vmm& vmm, uint64_t number, std::span<const int32_t> pids);
// `device` (physical number) will reach the memory, wherever it lies.
Result<vmm::PhysicalHandle> import_handle(vmm::Vmm& vmm, uint64_t number, uint32_t device);

// Where the memory lies that a number stands for: a physical number, or kHostBank.
uint32_t device_of(uint64_t number);

// A random number for secrets; repeatable when the user chose a seed.
uint64_t secret(device::Node& node);

// Checks a list of pids and leaves out zeros.
Result<std::vector<int32_t>> usable_pids(std::span<const int32_t> pids);

}  // namespace plat::share
