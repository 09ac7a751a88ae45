// SPDX-License-Identifier: Apache-2.0
#include "malloc/pool_set.h"

#include <cstring>

#include "base/text.h"
#include "rules/rules.h"

namespace plat::malloc {

using core::kPageBytes;

namespace {
// Above the 48 bits of an address, so that no pointer is taken for a pool.
constexpr uint64_t kPoolTag = uint64_t{0x50} << 52;
}  // namespace

Result<uint64_t> PoolSet::create(device::BankId bank, uint64_t max_bytes) {
  PLAT_ASSIGN(opened, heap_.vmm().node().bank(bank));
  const uint64_t capacity = opened->ledger().capacity_bytes();
  if (max_bytes > capacity)
    return fail(RuleId::PoolSize, "poolProps->maxSize", "maxSize is {} bytes, the device has {}", max_bytes,
                capacity);
  const uint64_t size = max_bytes == 0 ? align_down(capacity, kPageBytes) : align_up(max_bytes, kPageBytes);
  const std::lock_guard lock(mutex_);
  const uint64_t handle = kPoolTag | next_handle_++;
  pool_count_.fetch_add(1, std::memory_order_release);
  pools_.emplace(handle, std::make_unique<Pool>(heap_.vmm(), segments_, bank, size));
  return handle;
}

Result<Pool*> PoolSet::find(uint64_t handle, RuleId rule) {
  const auto found = pools_.find(handle);
  if (found != pools_.end() && !found->second->destroyed) return found->second.get();
  return fail(rule, "memPool", "{:#x} is {}", handle,
              found != pools_.end() || (handle > kPoolTag && handle < (kPoolTag | next_handle_))
                  ? "a pool that was destroyed"
                  : "no pool");
}

Result<> PoolSet::destroy(uint64_t handle, const stream::Streams& streams) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(pool, find(handle, RuleId::PoolHandle));
  // Blocks that are still in use keep theirs of the pool until they are freed.
  pool->destroyed = true;
  pool->trim(0, true, streams);
  if (pool->reserved_bytes() == 0) pools_.erase(handle);
  return {};
}

Result<> PoolSet::set(uint64_t handle, aclrtMemPoolAttr attribute, const void* value) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(pool, find(handle, RuleId::PoolAttributeArguments));
  if (value == nullptr) return fail(RuleId::PoolAttributeArguments, "value", "value is null");
  const auto flag = [&](bool& target) -> Result<> {
    uint32_t word = 0;
    std::memcpy(&word, value, sizeof(word));
    if (word > 1) return fail(RuleId::PoolAttributeArguments, "value", "value is {}", word);
    target = word != 0;
    return {};
  };
  uint64_t number = 0;
  switch (attribute) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return flag(pool->attributes.follow_events);
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
      return flag(pool->attributes.opportunistic);
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return flag(pool->attributes.internal_dependencies);
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD:
      std::memcpy(&number, value, sizeof(number));
      if (number > pool->max_bytes())
        return fail(RuleId::PoolAttribute, "value", "the threshold is {} bytes, the pool has {}", number,
                    pool->max_bytes());
      pool->attributes.release_threshold = number;
      return {};
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT:
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT:
      return fail(RuleId::PoolAttributeArguments, "attr", "attribute {} cannot be set",
                  static_cast<int>(attribute));
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
      std::memcpy(&number, value, sizeof(number));
      if (number != 0) return fail(RuleId::PoolAttribute, "value", "a peak was to be set to {}", number);
      // A peak starts again from what is there: it is never below that.
      if (attribute == ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH)
        pool->used_peak = pool->used_bytes();
      else
        pool->reserved_peak = pool->reserved_bytes();
      return {};
  }
  return fail(RuleId::PoolAttribute, "attr", "attr is {}", static_cast<int>(attribute));
}

Result<> PoolSet::get(uint64_t handle, aclrtMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(pool, find(handle, RuleId::PoolAttributeArguments));
  if (value == nullptr) return fail(RuleId::PoolAttributeArguments, "value", "value is null");
  const auto flag = [&](bool is_set) -> Result<> {
    const uint32_t word = is_set ? 1 : 0;
    std::memcpy(value, &word, sizeof(word));
    return {};
  };
  const auto number = [&](uint64_t bytes) -> Result<> {
    std::memcpy(value, &bytes, sizeof(bytes));
    return {};
  };
  switch (attribute) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return flag(pool->attributes.follow_events);
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
      return flag(pool->attributes.opportunistic);
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return flag(pool->attributes.internal_dependencies);
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD:
      return number(pool->attributes.release_threshold);
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT:
      return number(pool->reserved_bytes());
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
      return number(pool->reserved_peak);
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT:
      return number(pool->used_bytes());
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
      return number(pool->used_peak);
  }
  return fail(RuleId::PoolAttribute, "attr", "attr is {}", static_cast<int>(attribute));
}

Result<Va> PoolSet::allocate(uint64_t handle, uint64_t size_bytes, stream::Streams& streams,
                             stream::StreamId stream) {
  PLAT_ASSIGN(resolved, streams.resolve(stream));
  Pool::Allocation allocation;
  {
    const std::lock_guard lock(mutex_);
    PLAT_ASSIGN(pool, find(handle, RuleId::PoolHandle));
    if (size_bytes > pool->max_bytes())
      return fail(RuleId::PoolExhausted, "size", "asked for {} bytes, the pool has {}", size_bytes,
                  pool->max_bytes());
    auto allocated = pool->allocate(size_bytes, streams, resolved);
    // It was the device that had nothing left; other pools may keep memory that nobody uses.
    if (!allocated && pool->could_hold(size_bytes) && reclaim_locked(pool->bank(), streams))
      allocated = pool->allocate(size_bytes, streams, resolved);
    if (!allocated) return forward(allocated.error());
    allocation = *allocated;
    try {
      blocks_[allocation.start.value] = {handle};
    } catch (...) {
      pool->undo(allocation);
      throw;
    }
    block_count_.store(blocks_.size(), std::memory_order_release);
  }
  try {
    heap_.history().allocated(allocation.start);
    if (const auto queued = open_in_order(handle, allocation, streams, resolved); !queued) {
      undo(handle, allocation);
      return forward(queued.error());
    }
  } catch (...) {
    undo(handle, allocation);
    throw;
  }
  return allocation.start;
}

void PoolSet::undo(uint64_t handle, const Pool::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  const auto pool = pools_.find(handle);
  if (pool == pools_.end() || !pool->second->undo(allocation)) return;
  blocks_.erase(allocation.start.value);
  block_count_.store(blocks_.size(), std::memory_order_release);
}

// What of an allocation has to wait for the stream. Not under the mutex: queueing may run other work.
Result<> PoolSet::open_in_order(uint64_t handle, const Pool::Allocation& allocation, stream::Streams& streams,
                                stream::StreamId stream) {
  if (const Pool::Wait wait = allocation.wait; wait.stream.value != 0)
    PLAT_TRY(streams.enqueue_poll(stream, [&streams, wait]() -> Result<bool> {
      return streams.has_completed(wait.stream, wait.position);
    }));
  if (!allocation.opens_later) return {};
  PLAT_TRY(streams.enqueue(stream, [this, handle, generation = allocation.generation]() -> Result<> {
    const std::lock_guard lock(mutex_);
    if (const auto pool = pools_.find(handle); pool != pools_.end()) pool->second->open(generation);
    return {};
  }));
  return {};
}

Pool* PoolSet::owner_of(Va va) {
  const auto block = blocks_.find(va.value);
  return block == blocks_.end() ? nullptr : pools_.at(block->second.pool).get();
}

// The free is queued before the block is given up: a queue that finds no memory leaves the block as it was.
// The stream may get there before the block is given up, or even before the call goes on: then it is the
// stream that gives it up.
Result<> PoolSet::free(Va va, stream::Streams& streams, stream::StreamId stream) {
  PLAT_ASSIGN(resolved, streams.resolve(stream));
  PLAT_ASSIGN(freed, begin_free(va));
  if (freed.free_number == 0) return free_heap_block(va, streams, resolved);
  try {
    const auto position = streams.enqueue(resolved, [this, va, freed, resolved]() -> Result<> {
      reach_free(va, freed, resolved);
      return {};
    });
    if (position)
      end_free(va, freed.free_number, resolved, *position);
    else
      free_behind(va, freed, streams, resolved);
  } catch (...) {
    cancel_free(va, freed.free_number);
    throw;
  }
  return {};
}

Result<PoolSet::Held> PoolSet::begin_free(Va va) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(va.value);
  if (block == blocks_.end()) return Held{};
  if (block->second.free_number != 0)
    return fail(RuleId::PoolFree, "ptr", "another thread is freeing the block at {:#x}", va.value);
  block->second.free_number = ++frees_begun_;
  return block->second;
}

void PoolSet::cancel_free(Va va, uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(va.value);
  if (block != blocks_.end() && block->second.free_number == number) block->second.free_number = 0;
}

void PoolSet::end_free(Va va, uint64_t number, stream::StreamId stream, stream::Position position) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(va.value);
  if (block == blocks_.end() || block->second.free_number != number) return;
  free_locked(*pools_.at(block->second.pool), va, "aclrtMemPoolFreeAsync", stream, position);
}

// A stream that takes nothing more may still run what it was given; behind that the block is anybody's.
void PoolSet::free_behind(Va va, Held freed, const stream::Streams& streams, stream::StreamId stream) {
  const auto given = streams.position(stream);
  reach_free(va, freed, given ? stream : stream::StreamId{}, given ? *given : 0);
}

void PoolSet::reach_free(Va va, Held freed, stream::StreamId stream, stream::Position position) {
  end_free(va, freed.free_number, stream, position);
  const std::lock_guard lock(mutex_);
  if (const auto pool = pools_.find(freed.pool); pool != pools_.end()) pool->second->expire(va);
}

Result<> PoolSet::free_heap_block(Va va, stream::Streams& streams, stream::StreamId stream) {
  const auto block = heap_.find(va);
  if (!block || block->start != va) {
    const std::string known = heap_.history().tell(va);
    return fail(RuleId::PoolFree, "ptr", "{}",
                known.empty() ? fmt::format("{:#x} is the start of no block", va.value) : known);
  }
  // The stream may free the block before the call goes on, and another thread get the address and free it in
  // its turn: what stands in the table then is that thread's, which the number tells.
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto [queued, is_new] = queued_frees_.try_emplace(va.value, QueuedFree{stream, kNotQueuedYet});
    if (!is_new && !streams.has_completed(queued->second.stream, queued->second.position))
      return fail(RuleId::PoolFree, "ptr", "the free of the block of {} bytes at {:#x} is queued already",
                  block->tag.asked_bytes, va.value);
    number = ++frees_begun_;
    queued->second = {stream, kNotQueuedYet, number};
  }
  const auto forget = [this, va, number] {
    const std::lock_guard lock(mutex_);
    const auto queued = queued_frees_.find(va.value);
    if (queued != queued_frees_.end() && queued->second.number == number) queued_frees_.erase(queued);
  };
  try {
    const auto position =
        streams.enqueue(stream, [this, forget, va, family = block->tag.family]() -> Result<> {
          forget();
          Result<> freed = heap_.free(va, family, "aclrtMemPoolFreeAsync");
          if (!freed) freed.error().detail += " (queued by aclrtMemPoolFreeAsync)";
          return freed;
        });
    if (!position) {
      forget();
      return forward(position.error());
    }
    // Unless the stream was there already.
    const std::lock_guard lock(mutex_);
    const auto queued = queued_frees_.find(va.value);
    if (queued != queued_frees_.end() && queued->second.number == number) queued->second.position = *position;
  } catch (...) {
    forget();
    throw;
  }
  return {};
}

bool PoolSet::free_now(Va va) {
  if (block_count_.load(std::memory_order_acquire) == 0) [[likely]]
    return false;
  const std::lock_guard lock(mutex_);
  Pool* pool = owner_of(va);
  if (pool == nullptr) return false;
  free_locked(*pool, va, "aclrtFree", stream::StreamId{}, 0);
  return true;
}

void PoolSet::free_locked(Pool& pool, Va va, const char* how, stream::StreamId stream,
                          stream::Position position) {
  const auto freed = pool.free(va, stream, position);
  blocks_.erase(va.value);
  block_count_.store(blocks_.size(), std::memory_order_release);
  heap_.history().freed(va, *freed, how);
}

void PoolSet::release_device(device::BankId bank, const stream::Streams& streams, const char* how) {
  if (pool_count_.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(mutex_);
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    const auto [start, held] = *at++;
    if (Pool& pool = *pools_.at(held.pool); pool.bank() == bank)
      free_locked(pool, Va{start}, how, stream::StreamId{}, 0);
  }
  for (auto at = pools_.begin(); at != pools_.end();) {
    Pool& pool = *at->second;
    if (pool.bank() == bank) {
      pool.destroyed = true;
      pool.trim(0, true, streams);
    }
    at = pool.destroyed && pool.reserved_bytes() == 0 ? pools_.erase(at) : std::next(at);
  }
}

Result<> PoolSet::trim(uint64_t handle, uint64_t keep_bytes, const stream::Streams& streams) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(pool, find(handle, RuleId::PoolHandle));
  if (keep_bytes < pool->used_bytes() || keep_bytes > pool->max_bytes())
    return fail(RuleId::PoolTrim, "minBytesToKeep", "minBytesToKeep is {}, {} are in use, the pool has {}",
                keep_bytes, pool->used_bytes(), pool->max_bytes());
  pool->trim(keep_bytes, false, streams);
  return {};
}

void PoolSet::synchronized(const stream::Streams& streams) {
  if (pool_count_.load(std::memory_order_acquire) == 0) [[likely]]
    return;
  const std::lock_guard lock(mutex_);
  for (auto at = pools_.begin(); at != pools_.end();) {
    at->second->settle(streams);
    at = at->second->destroyed && at->second->reserved_bytes() == 0 ? pools_.erase(at) : std::next(at);
  }
}

bool PoolSet::reclaim(device::BankId bank, const stream::Streams& streams) {
  const std::lock_guard lock(mutex_);
  return reclaim_locked(bank, streams);
}

bool PoolSet::reclaim_locked(device::BankId bank, const stream::Streams& streams) {
  uint64_t before = 0;
  uint64_t after = 0;
  for (auto& [handle, pool] : pools_) {
    if (pool->bank() != bank) continue;
    before += pool->reserved_bytes();
    pool->trim(0, true, streams);
    after += pool->reserved_bytes();
  }
  return after < before;
}

}  // namespace plat::malloc
