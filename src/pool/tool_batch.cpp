// SPDX-License-Identifier: Apache-2.0
#include "pool/tool_batch.h"

#include "pool/guarded.h"
#include "pool/pool.h"

namespace plat::pool {

namespace {
constinit thread_local ToolBatch* current_tool_batch = nullptr;
}

constinit thread_local int ToolSilence::depth_ = 0;

ToolBatch::ToolBatch() : outer_(current_tool_batch == nullptr) {
  if (outer_) current_tool_batch = this;
}

ToolBatch::~ToolBatch() {
  // Only after a failure is there anything left to do here, and then the host may have no memory either.
  guarded([&] { return finish(); });
}

ToolBatch* ToolBatch::current() { return current_tool_batch; }

void ToolBatch::add(ToolHook& hook, void* heap, const ToolHook::Region& region, int32_t device) {
  Added& added = added_[{&hook, heap}];
  added.device = device;
  added.regions.push_back(region);
}

bool ToolBatch::remove(Pool& pool, Space& space, void* address, plat_stream stream) {
  if (!addresses_.insert(address).second) return false;
  removed_.push_back({&pool, &space, address, stream});
  return true;
}

void ToolBatch::tell_added() {
  for (auto& [where, added] : added_) where.first->regions_added(where.second, added.regions, added.device);
  added_.clear();
}

plat_pool_status ToolBatch::finish() {
  if (!outer_ || current_tool_batch != this) return PLAT_POOL_OK;
  current_tool_batch = nullptr;
  tell_added();
  std::map<Pool*, std::vector<const void*>> gone;
  for (const Removed& removed : removed_) gone[removed.pool].push_back(removed.address);
  for (auto& [pool, addresses] : gone) pool->reporting().tool().regions_removed(addresses);
  plat_pool_status first = PLAT_POOL_OK;
  for (const Removed& removed : removed_) {
    const auto status = removed.pool->release_unheard(*removed.space, removed.address, removed.stream);
    if (first == PLAT_POOL_OK) first = status;
  }
  removed_.clear();
  addresses_.clear();
  return first;
}

OutsideBatch::OutsideBatch()
    : batch_(std::exchange(current_tool_batch, nullptr)), depth_(std::exchange(ToolSilence::depth_, 0)) {}

OutsideBatch::~OutsideBatch() {
  current_tool_batch = batch_;
  ToolSilence::depth_ = depth_;
}

}  // namespace plat::pool
