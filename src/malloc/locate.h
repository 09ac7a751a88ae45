// SPDX-License-Identifier: Apache-2.0
// Where an address lies, as far as the device knows.
#pragma once

#include <optional>

#include "core/page_table.h"
#include "device/ids.h"
#include "device/node.h"
#include "malloc/device_heap.h"
#include "malloc/host_heap.h"
#include "vmm/address_space.h"

namespace plat::malloc {

enum class Side : uint8_t {
  Device,        // memory of a device
  Host,          // page-locked, registered, or host memory of the seven steps
  Unregistered,  // anything else
};

struct Location {
  Side side = Side::Unregistered;
  bool translated = false;  // its bytes are found through the page table, not at the address itself
  device::BankId bank;      // of translated memory
  bool is_hole = false;     // a device address with nothing behind it
};

class Locator {
 public:
  Locator(DeviceHeap& devices, const HostHeap& hosts) : devices_(devices), hosts_(hosts) {}

  // In line, so that the answer stays in registers: copies ask twice.
  Location locate(Va va) const {
    const bool valid = va.value >> core::kAddressBits == 0;
    const vmm::PageEntry entry = valid ? devices_.vmm().space().entry(va) : vmm::PageEntry{};
    if (entry.tag() == vmm::PageEntry::Mapped) {
      const bool on_host = entry.bank() == device::kHostBank;
      return {on_host ? Side::Host : Side::Device, true, entry.bank(), false};
    }
    if (entry.tag() == vmm::PageEntry::Remote) return {Side::Device, true, entry.bank(), false};
    if (hosts_.find(va)) return {Side::Host, false, {}, false};
    return {Side::Unregistered, false, {}, is_device_address(va)};
  }
  // Whether the address can only be one of a device: reserved, or in the window that devices use. Cheap.
  bool is_device_address(Va va) const {
    return va.value >> core::kAddressBits == 0 && devices_.vmm().space().is_device_address(va);
  }
  // Whether the address is one of host and device alike. Cheap for all but host memory of the machine.
  bool is_managed(Va va, const Location& location) const {
    return location.translated && location.bank == device::kHostBank && is_managed_mapping(va);
  }
  // Whether the address was mapped by the client, and not allocated.
  bool is_client_mapping(Va va) const;
  // In which pages device memory is mapped at the address; nothing when no live block is there.
  std::optional<uint64_t> page_bytes(Va va) const;
  // The block or the mapping around the address, in whole pages.
  Result<vmm::SubBlocks::Block> range_around(Va va) const;

 private:
  bool is_managed_mapping(Va va) const;

  DeviceHeap& devices_;
  const HostHeap& hosts_;
};

}  // namespace plat::malloc
