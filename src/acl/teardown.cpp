// SPDX-License-Identifier: Apache-2.0
#include "acl/teardown.h"

#include "stream/streams.h"

namespace plat::acl {

void release_memory(Runtime& runtime, uint32_t device, const char* how) {
  const device::BankId bank(device);
  if (runtime.node.open_bank(bank) == nullptr) return;
  runtime.node.forget_peers(device);
  runtime.ipc.release_device(bank);
  runtime.pools.release_device(bank, runtime.streams, how);
  runtime.heap.release_device(bank, how);
  runtime.vmm.release_device(bank);
}

void release_everything(Runtime& runtime, const char* how) {
  runtime.streams.finish();
  for (uint32_t device = 0; device < device::kMaxDevices; ++device) {
    release_memory(runtime, device, how);
    runtime.node.set_open(device, false);
  }
  runtime.managed.free_all();
  runtime.mbufs.free_all();
  runtime.vmm.release_device(device::kHostBank);
  runtime.vmm.release_device(device::BankId::none());  // reservations that no device has been mapped into
}

}  // namespace plat::acl
