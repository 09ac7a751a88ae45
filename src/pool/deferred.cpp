// Blocks that work on several streams uses. Freeing one records an event on each of those streams; the block
// comes back when all of them have passed. Rare enough that a map and a list do.
#include <acl/acl_rt.h>

#include <algorithm>

#include "pool/pool_impl.h"

namespace plat::pool {

plat_pool_status Pool::use_on(void* address, plat_stream stream) {
  // Only a live block: a note about anything else would stay for ever.
  if (const auto status = usable(address, nullptr, nullptr); status != PLAT_POOL_OK) return status;
  if (stream == nullptr) return PLAT_POOL_OK;
  {
    std::lock_guard guard(shared_mutex_);
    auto& streams = uses_[address];
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
    shared_count_ = static_cast<uint32_t>(uses_.size() + shared_.size());
  }
  refresh_key();
  return PLAT_POOL_OK;
}

// True when the block was taken over; false when nobody but its own stream uses it.
bool Pool::defer_shared(void* address, plat_stream stream) {
  std::lock_guard guard(shared_mutex_);
  auto uses = uses_.find(address);
  if (uses == uses_.end()) return false;
  Shared shared{address, stream, {}};
  for (plat_stream other : uses->second) {
    if (other == stream) continue;
    aclrtEvent event = nullptr;
    if (aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC) != ACL_SUCCESS) {
      aclrtSynchronizeStream(other);  // no event to be had: wait here instead
      continue;
    }
    if (aclrtRecordEvent(event, other) != ACL_SUCCESS) {
      aclrtDestroyEvent(event);
      aclrtSynchronizeStream(other);
      continue;
    }
    shared.events.push_back(event);
  }
  uses_.erase(uses);
  shared_.push_back(std::move(shared));
  shared_count_ = static_cast<uint32_t>(uses_.size() + shared_.size());
  return true;
}

bool Pool::drain_shared(bool wait) {
  std::vector<Shared> ready;
  {
    std::lock_guard guard(shared_mutex_);
    for (size_t i = 0; i < shared_.size();) {
      auto& events = shared_[i].events;
      while (!events.empty()) {
        aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
        if (wait)
          aclrtSynchronizeEvent(events.back());
        else if (aclrtQueryEventStatus(events.back(), &status) != ACL_SUCCESS ||
                 status != ACL_EVENT_RECORDED_STATUS_COMPLETE)
          break;
        aclrtDestroyEvent(events.back());
        events.pop_back();
      }
      if (!events.empty()) {
        ++i;
        continue;
      }
      ready.push_back(std::move(shared_[i]));
      shared_.erase(shared_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    shared_count_ = static_cast<uint32_t>(uses_.size() + shared_.size());
  }
  for (const Shared& shared : ready) release_now(index_.find(shared.address), shared.address, shared.stream);
  if (!ready.empty()) refresh_key();
  return !ready.empty();
}

void Pool::forget_shared() {
  std::lock_guard guard(shared_mutex_);
  for (const Shared& shared : shared_)
    for (void* event : shared.events) aclrtDestroyEvent(event);
  uses_.clear();
  shared_.clear();
  shared_count_ = 0;
}

}  // namespace plat::pool
