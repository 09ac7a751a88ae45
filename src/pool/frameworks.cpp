// SPDX-License-Identifier: Apache-2.0
// Adapters for programs that bring their own hooks: torch_npu's pluggable allocator and the custom allocator
// of a stream.
#include <acl/acl_rt.h>
#include <acl/acl_rt_allocator.h>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "pool/frameworks.h"
#include "pool/guarded.h"
#include "pool/option_text.h"

namespace plat::pool {

namespace {

// One pool a device, for the whole life of the process: frameworks free after main.
plat_pool* pool_of_device(int device) {
  struct Pools {
    std::mutex mutex;
    std::map<int, plat_pool*> of_device;
  };
  auto& pools = of_this_process<Pools>();
  std::lock_guard guard(pools.mutex);
  plat_pool*& pool = pools.of_device[device];
  if (pool == nullptr) {
    plat_pool_options options;
    plat_pool_options_init(&options);
    options.name = "torch_npu";
    options.device = device;
    if (read_options("PLAT_POOL_TORCH", options) == PLAT_POOL_OK) plat_pool_create(&options, &pool);
  }
  return pool;
}

// A framework that names no stream means the default one.
plat_stream or_default(plat_stream stream) { return stream != nullptr ? stream : PLAT_POOL_DEFAULT_STREAM; }

struct StreamAllocator {
  plat_pool* pool;
  plat_stream stream;
};
struct Registered {
  std::mutex mutex;
  std::map<plat_stream, StreamAllocator*> allocators;
};
std::mutex& adapters_mutex() { return of_this_process<Registered>().mutex; }
std::map<plat_stream, StreamAllocator*>& adapters() { return of_this_process<Registered>().allocators; }

// A block is its address here: the runtime asks for the address of a block and needs nothing else.
void* stream_alloc(aclrtAllocator allocator, size_t size) {
  auto* adapter = static_cast<StreamAllocator*>(allocator);
  void* address = nullptr;
  return plat_pool_alloc_on(adapter->pool, size, adapter->stream, &address) == PLAT_POOL_OK ? address
                                                                                            : nullptr;
}
void* stream_alloc_advise(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr) {
  return stream_alloc(allocator, size);
}
void stream_free(aclrtAllocator allocator, aclrtAllocatorBlock block) {
  auto* adapter = static_cast<StreamAllocator*>(allocator);
  plat_pool_free_on(adapter->pool, block, adapter->stream);
}
void* stream_address(aclrtAllocatorBlock block) { return block; }

plat_pool_status register_adapter(plat_pool* pool, plat_stream stream) {
  // The records first: after the runtime has agreed, nothing may fail.
  auto adapter = std::make_unique<StreamAllocator>(StreamAllocator{pool, stream});
  std::lock_guard guard(adapters_mutex());
  auto& place = adapters()[stream];
  aclrtAllocatorDesc description = aclrtAllocatorCreateDesc();
  if (description == nullptr)
    return report(PLAT_POOL_DEVICE, "plat_pool_register_on_stream: no description to be had");
  aclError code = aclrtAllocatorSetObjToDesc(description, adapter.get());
  if (code == ACL_SUCCESS) code = aclrtAllocatorSetAllocFuncToDesc(description, stream_alloc);
  if (code == ACL_SUCCESS) code = aclrtAllocatorSetFreeFuncToDesc(description, stream_free);
  if (code == ACL_SUCCESS) code = aclrtAllocatorSetAllocAdviseFuncToDesc(description, stream_alloc_advise);
  if (code == ACL_SUCCESS) code = aclrtAllocatorSetGetAddrFromBlockFuncToDesc(description, stream_address);
  if (code == ACL_SUCCESS) code = aclrtAllocatorRegister(stream, description);
  aclrtAllocatorDestroyDesc(description);
  if (code != ACL_SUCCESS)
    return report(PLAT_POOL_DEVICE,
                  fmt::format("plat_pool_register_on_stream: the runtime refused with {}", code));
  delete std::exchange(place, adapter.release());  // an earlier registration, which this one replaced
  return PLAT_POOL_OK;
}

}  // namespace

void leave_streams(plat_pool* pool) {
  std::lock_guard guard(adapters_mutex());
  for (auto adapter = adapters().begin(); adapter != adapters().end();) {
    auto& [stream, allocator] = *adapter;
    if (allocator == nullptr || allocator->pool != pool) {
      ++adapter;
    } else if (aclrtAllocatorUnregister(stream) == ACL_SUCCESS) {
      delete allocator;
      adapter = adapters().erase(adapter);
    } else {
      allocator->pool = nullptr;  // the runtime may still ask, and is told that there is nothing
      ++adapter;
    }
  }
}

}  // namespace plat::pool

using namespace plat::pool;

extern "C" {

void* plat_pool_torch_malloc(size_t size, int device, plat_stream stream) {
  plat_pool* pool = plat_pool_torch_pool(device);
  void* address = nullptr;
  if (pool == nullptr || size == 0) return nullptr;
  return plat_pool_alloc_on(pool, size, or_default(stream), &address) == PLAT_POOL_OK ? address : nullptr;
}

void plat_pool_torch_free(void* address, size_t, int device, plat_stream stream) {
  if (plat_pool* pool = plat_pool_torch_pool(device); pool != nullptr)
    plat_pool_free_on(pool, address, or_default(stream));
}

plat_pool* plat_pool_torch_pool(int device) {
  plat_pool* pool = nullptr;
  guarded([&] { return pool = pool_of_device(device), PLAT_POOL_OK; });
  return pool;
}

plat_pool_status plat_pool_register_on_stream(plat_pool* pool, plat_stream stream) {
  if (pool == nullptr || stream == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_register_on_stream: an argument is NULL");
  return guarded(*pool, [&] { return register_adapter(pool, stream); });
}
plat_pool_status plat_pool_unregister_from_stream(plat_stream stream) {
  if (stream == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_unregister_from_stream: the stream is NULL");
  const aclError code = aclrtAllocatorUnregister(stream);
  if (code != ACL_SUCCESS)
    return report(PLAT_POOL_DEVICE,
                  fmt::format("plat_pool_unregister_from_stream: the runtime refused with {}", code));
  std::lock_guard guard(adapters_mutex());
  if (auto adapter = adapters().find(stream); adapter != adapters().end()) {
    delete adapter->second;
    adapters().erase(adapter);
  }
  return PLAT_POOL_OK;
}

}  // extern "C"
