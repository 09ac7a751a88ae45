// SPDX-License-Identifier: Apache-2.0
// Everything that this process knows of its devices, made on the first call.
#pragma once

#include "device/device.h"
#include "malloc/malloc.h"
#include "share/share.h"
#include "stream/streams.h"
#include "vmm/vmm.h"

namespace plat::acl {

struct Runtime {
  Runtime();

  // Frees a block of the heap, and ends its IPC keys.
  Result<> free_block(Va start, memory::Family by, const char* how);

  device::Node node;
  stream::Streams streams;
  vmm::Vmm vmm;
  share::Ipc ipc;
  memory::DeviceHeap heap;
  memory::HostHeap hosts;
  memory::Locator locator;
  memory::Mover mover;
  memory::Segments segments;
  memory::Copies copies;
  memory::PoolSet pools;
  memory::AllocatorRegistry allocators;
  memory::Barriers barriers;
};

namespace detail {

extern std::atomic<Runtime*> current;
// 1 in the process that made the runtime; 0 in a child of it, however it was forked.
extern std::atomic<const std::atomic<uint32_t>*> own_process;
Runtime& make_runtime();

}  // namespace detail

// Never destroyed: programs call in from destructors that run after main.
inline Runtime& runtime() {
  if (Runtime* made = detail::current.load(std::memory_order_acquire)) [[likely]]
    return *made;
  return detail::make_runtime();
}

// Whether this is a forked child that has not called aclInit yet: what it inherited means nothing here.
inline bool is_stale_child() {
  return detail::own_process.load(std::memory_order_acquire)->load(std::memory_order_relaxed) == 0;
}
// Leaves the parent's state behind and starts afresh.
void restart_in_child();

}  // namespace plat::acl
