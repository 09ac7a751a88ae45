#include "pool/batch.h"

#include "pool/guarded.h"
#include "pool/pool_impl.h"

namespace plat::pool {

namespace {
constinit thread_local Batch* current_batch = nullptr;
}

constinit thread_local int Quiet::depth_ = 0;

Batch::Batch() : outer_(current_batch == nullptr) {
  if (outer_) current_batch = this;
}

Batch::~Batch() {
  // Only after a failure is there anything left to do here, and then the host may have no memory either.
  guarded([&] { return finish(); });
}

Batch* Batch::current() { return current_batch; }

void Batch::add(ToolHook& hook, void* heap, const ToolHook::Region& region, int32_t device) {
  Added& added = added_[{&hook, heap}];
  added.device = device;
  added.regions.push_back(region);
}

bool Batch::remove(Pool& pool, Space& space, void* address, plat_stream stream) {
  if (!addresses_.insert(address).second) return false;
  removed_.push_back({&pool, &space, address, stream});
  return true;
}

void Batch::tell_added() {
  for (auto& [where, added] : added_) where.first->regions_added(where.second, added.regions, added.device);
  added_.clear();
}

plat_pool_status Batch::finish() {
  if (!outer_ || current_batch != this) return PLAT_POOL_OK;
  current_batch = nullptr;
  tell_added();
  std::map<Pool*, std::vector<const void*>> gone;
  for (const Removed& removed : removed_) gone[removed.pool].push_back(removed.address);
  for (auto& [pool, addresses] : gone) pool->tool_.regions_removed(addresses);
  plat_pool_status first = PLAT_POOL_OK;
  for (const Removed& removed : removed_) {
    const auto status = removed.pool->release_told(removed.space, removed.address, removed.stream);
    if (first == PLAT_POOL_OK) first = status;
  }
  removed_.clear();
  addresses_.clear();
  return first;
}

Interlude::Interlude()
    : batch_(std::exchange(current_batch, nullptr)), depth_(std::exchange(Quiet::depth_, 0)) {}

Interlude::~Interlude() {
  current_batch = batch_;
  Quiet::depth_ = depth_;
}

}  // namespace plat::pool
