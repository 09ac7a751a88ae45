// SPDX-License-Identifier: Apache-2.0
// Everything that this process knows of its devices, made on the first call.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "acl/acl_rt_device_state.h"
#include "acl/acl_rt_stream.h"
#include "acl/exception_callbacks.h"
#include "acl/snapshot.h"
#include "acl/start_callbacks.h"
#include "copy/barriers.h"
#include "copy/copies.h"
#include "copy/mover.h"
#include "device/limits.h"
#include "device/node.h"
#include "malloc/allocator_registry.h"
#include "malloc/device_heap.h"
#include "malloc/host_heap.h"
#include "malloc/locate.h"
#include "malloc/managed_heap.h"
#include "malloc/mbufs.h"
#include "malloc/pool_set.h"
#include "malloc/segment.h"
#include "share/ipc.h"
#include "share/remote_memory.h"
#include "stream/live_set.h"
#include "stream/named_callbacks.h"
#include "stream/streams.h"
#include "vmm/vmm.h"

namespace plat::acl {

struct Runtime {
  Runtime();

  // A block of device memory; when the device (physical number) is full, pools give back what is idle.
  Result<Va> allocate(const malloc::BlockRequest& wanted, uint32_t device, uint16_t module,
                      malloc::Family family) {
    const device::BankId bank(device);
    return heap.allocate(wanted, bank, module, family, [this, bank] { return pools.reclaim(bank, streams); });
  }

  device::Node node;
  device::Limits limits;
  stream::Streams streams;
  vmm::Vmm vmm;
  share::Ipc ipc;
  std::unique_ptr<share::RemoteMemory> remote_memory;
  malloc::DeviceHeap heap;
  malloc::HostHeap hosts;
  malloc::ManagedHeap managed;
  malloc::Mbufs mbufs{hosts};
  malloc::Locator locator;
  copy::Mover mover;
  malloc::Segments segments;
  copy::Copies copies;
  malloc::PoolSet pools;
  malloc::AllocatorRegistry allocators;
  copy::Barriers barriers;
  // Functions of the client's that are told of devices, of streams, and of aborted tasks.
  stream::NamedCallbacks<aclrtDeviceStateCallback> device_callbacks;
  stream::NamedCallbacks<aclrtStreamStateCallback> stream_callbacks;
  stream::NamedCallbacks<aclrtDeviceTaskAbortCallback> abort_callbacks;
  ExceptionCallbacks exception_callbacks;
  StartCallbacks<aclInitCallbackFunc> init_callbacks;
  StartCallbacks<aclFinalizeCallbackFunc> finalize_callbacks;
  // What aclInit found in its file; nothing while ACL has not started.
  std::optional<std::string> start_config() const {
    const std::lock_guard lock(start_mutex_);
    return start_config_;
  }
  void set_start_config(std::optional<std::string> config) {
    const std::lock_guard lock(start_mutex_);
    start_config_ = std::move(config);
  }
  std::array<std::atomic<int64_t>, 4> options{};  // system parameters, by aclSysParamOpt
  Snapshot snapshot;
  stream::LiveSet data_buffers;
  stream::LiveSet stream_configs;

 private:
  mutable std::mutex start_mutex_;  // guards start_config_
  std::optional<std::string> start_config_;
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
