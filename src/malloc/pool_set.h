// SPDX-License-Identifier: Apache-2.0
// PoolSet: the pools of this process, found by handle and by address.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "acl/acl_rt_memory_soma.h"
#include "device/ids.h"
#include "malloc/device_heap.h"
#include "malloc/pool.h"
#include "stream/streams.h"

namespace plat::malloc {

class PoolSet {
 public:
  explicit PoolSet(DeviceHeap& heap) : heap_(heap) {}
  PoolSet(const PoolSet&) = delete;
  PoolSet& operator=(const PoolSet&) = delete;

  // `bank` is the device's physical number; a size of 0 is the whole device.
  Result<uint64_t> create(device::BankId bank, uint64_t max_bytes);
  Result<> destroy(uint64_t handle, const stream::Streams& streams);
  // `value` is what the attribute's type says.
  Result<> set(uint64_t handle, aclrtMemPoolAttr attribute, const void* value);
  Result<> get(uint64_t handle, aclrtMemPoolAttr attribute, void* value);

  Result<Va> allocate(uint64_t handle, uint64_t size_bytes, stream::Streams& streams,
                      stream::StreamId stream);
  // Also frees blocks of the heap, in stream order.
  Result<> free(Va va, stream::Streams& streams, stream::StreamId stream);
  // At once. False when the address is of no pool.
  bool free_now(Va va);
  // Destroys the pools of the device, and frees what is in use of them.
  void release_device(device::BankId bank, const stream::Streams& streams, const char* how);
  Result<> trim(uint64_t handle, uint64_t keep_bytes, const stream::Streams& streams);

  // A stream or the device was synchronised: the moment to give back what is too much.
  void synchronized(const stream::Streams& streams);
  // The device is full: gives back whatever is idle. True if it was anything.
  bool reclaim(device::BankId bank, const stream::Streams& streams);

 private:
  Result<Pool*> find(uint64_t handle, RuleId rule);
  Pool* owner_of(Va va);
  bool reclaim_locked(device::BankId bank, const stream::Streams& streams);
  void free_locked(Pool& pool, Va va, const char* how, stream::StreamId stream, stream::Position position);
  Result<> open_in_order(uint64_t handle, const Pool::Allocation& allocation, stream::Streams& streams,
                         stream::StreamId stream);
  // Nobody was told of it yet.
  void undo(uint64_t handle, const Pool::Allocation& allocation);
  Result<> free_heap_block(Va va, stream::Streams& streams, stream::StreamId stream);
  struct Held {  // a live block
    uint64_t pool = 0;
    uint64_t free_number = 0;  // of the free that is being queued, or 0
  };
  // A free of a pool's block is begun, queued, and ended by the call or by the stream, whoever comes first.
  // Nothing is begun where the address is of no pool.
  Result<Held> begin_free(Va va);
  void cancel_free(Va va, uint64_t number);
  void end_free(Va va, uint64_t number, stream::StreamId stream, stream::Position position);
  void reach_free(Va va, Held freed, stream::StreamId stream, stream::Position position = 0);
  void free_behind(Va va, Held freed, const stream::Streams& streams, stream::StreamId stream);

  DeviceHeap& heap_;
  std::mutex mutex_;  // guards everything below; taken before Vmm::mutex_, and never while queueing
  SegmentStore segments_;
  std::map<uint64_t, std::unique_ptr<Pool>> pools_;
  std::map<uint64_t, Held> blocks_;  // by start
  uint64_t frees_begun_ = 0;
  struct QueuedFree {
    stream::StreamId stream;
    stream::Position position;
    uint64_t number = 0;  // of all frees that were begun
  };
  static constexpr stream::Position kNotQueuedYet = ~stream::Position{0};
  std::map<uint64_t, QueuedFree> queued_frees_;  // of blocks of the heap: start -> where they are freed
  uint64_t next_handle_ = 1;
  // Read without the mutex, because most programs have no pool: live blocks, and pools ever made.
  std::atomic<size_t> block_count_{0};
  std::atomic<size_t> pool_count_{0};
};

}  // namespace plat::malloc
