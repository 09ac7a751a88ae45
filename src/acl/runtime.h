// Everything that this process knows of its devices, made on the first call.
#pragma once

#include <atomic>

#include "device/device.h"
#include "malloc/malloc.h"
#include "share/share.h"
#include "vmm/vmm.h"

namespace plat::acl {

struct Runtime {
  Runtime();

  device::Node node;
  vmm::Vmm vmm;
  share::Ipc ipc;
  memory::DeviceHeap heap;
  memory::HostHeap hosts;
  memory::Locator locator;
  memory::Mover mover;
  memory::Copies copies;
  memory::PoolSet pools;
  memory::AllocatorRegistry allocators;
  memory::Barriers barriers;
  // [a] has bit b when device a was allowed to reach device b. Physical numbers.
  std::atomic<uint64_t> enabled_peers[device::kMaxDevices] = {};
};

// Never destroyed: programs call in from destructors that run after main.
Runtime& runtime();

// Whether this is a forked child that has not called aclInit yet: what it inherited means nothing here.
bool is_stale_child();
// Leaves the parent's state behind and starts afresh.
void restart_in_child();

}  // namespace plat::acl
