// SPDX-License-Identifier: Apache-2.0
// A machine of this test's own with small devices, and everything above it up to the mover.
#pragma once

#include <map>
#include <string>

#include "copy/mover.h"
#include "device/config.h"
#include "malloc/device_heap.h"
#include "malloc/host_heap.h"
#include "malloc/locate.h"
#include "malloc/module_usage.h"
#include "share/ipc.h"
#include "vmm/vmm.h"

namespace plat::testing {

inline device::Config tiny_config(std::map<std::string, std::string> more = {}) {
  std::map<std::string, std::string> values = {{"PLAT_NODE", "private"},
                                               {"PLAT_CAPACITY", "64MiB"},
                                               {"PLAT_DEVICES", "2"},
                                               {"PLAT_QUIET", "1"},
                                               {"PLAT_LOG", "off"}};
  for (auto& [name, value] : more) values[name] = value;
  return device::read_config([&](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

struct TinyDevice {
  explicit TinyDevice(std::map<std::string, std::string> more = {})
      : node(tiny_config(std::move(more))),
        vmm(node),
        ipc(vmm),
        heap(vmm, ipc),
        locator(heap, hosts),
        mover(heap, hosts, locator) {}

  Result<Va> malloc(uint64_t size, uint32_t policy = ACL_MEM_MALLOC_HUGE_FIRST,
                    malloc::Call call = malloc::Call::Malloc) {
    PLAT_ASSIGN(wanted, malloc::request_for(node.product(), call, size, policy));
    return heap.allocate(wanted, device::BankId(0), malloc::kModuleApp,
                         call == malloc::Call::Media ? malloc::Family::Media : malloc::Family::Device);
  }
  Result<> free(Va va) { return heap.free(va, malloc::Family::Device, "aclrtFree"); }
  uint64_t free_bytes() { return (*node.bank(device::BankId(0)))->ledger().usage().free_bytes; }
  uint64_t free_huge_bytes() { return (*node.bank(device::BankId(0)))->ledger().usage().free_page_bytes; }

  device::Node node;
  vmm::Vmm vmm;
  share::Ipc ipc;
  malloc::DeviceHeap heap;
  malloc::HostHeap hosts;
  malloc::Locator locator;
  copy::Mover mover;
};

}  // namespace plat::testing
