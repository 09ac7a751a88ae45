// Blocks that work on several streams uses. Freeing one records an event on each of those streams; the block
// comes back when all of them have passed. Rare enough that a map and a list do.
#include <algorithm>
#include <iterator>

#include "pool/pool_impl.h"

namespace plat::pool {

plat_pool_status Pool::use_on(void* address, plat_stream stream) {
  if (Pool* companion = index_.find(address) == nullptr ? companion_at(address) : nullptr)
    return companion->use_on(address, stream);
  // Only a live block: a note about anything else would stay for ever.
  if (const auto status = usable(address, nullptr, nullptr); status != PLAT_POOL_OK) return status;
  if (stream == nullptr) return PLAT_POOL_OK;
  if (const auto status = check_stream(stream); status != PLAT_POOL_OK) return status;
  {
    std::lock_guard guard(shared_mutex_);
    auto& streams = uses_[address];
    if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
    shared_count_ = static_cast<uint32_t>(uses_.size() + shared_.size());
  }
  refresh_front();
  return PLAT_POOL_OK;
}

// A block that was freed already and waits for its streams. It stays in the books of its zone meanwhile.
bool Pool::is_deferred(const void* address) {
  if (shared_count_.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard guard(shared_mutex_);
  return deferred_.count(address) != 0;
}

// kYes when the block was taken over; kNo when nobody but its own stream uses it.
Pool::Deferred Pool::defer_shared(void* address, plat_stream stream) {
  std::lock_guard guard(shared_mutex_);
  if (deferred_.count(address) != 0) return Deferred::kTwice;
  auto uses = uses_.find(address);
  if (uses == uses_.end()) return Deferred::kNo;
  // What may fail comes before the first event.
  Shared shared{address, stream, {}, {}};
  shared.events.reserve(uses->second.size());
  for (plat_stream other : uses->second)
    if (other != stream) shared.unmarked.push_back(other);
  shared_.reserve(shared_.size() + 1);
  deferred_.insert(address);
  mark(shared);
  uses_.erase(uses);
  shared_.push_back(std::move(shared));
  shared_count_ = static_cast<uint32_t>(uses_.size() + shared_.size());
  return Deferred::kYes;
}

// Records an event on each stream that has none yet. One that the device refuses is tried again later, unless
// the stream is gone.
void Pool::mark(Shared& shared) {
  Events& events = source_->events();
  std::erase_if(shared.unmarked, [&](plat_stream stream) {
    void* event = events.create();
    if (event == nullptr) return false;
    if (!events.record(event, stream)) {
      events.destroy(event);
      return events.state(stream) == StreamState::kGone;  // it has finished
    }
    shared.events.push_back(event);
    return true;
  });
}

bool Pool::passed(Shared& shared, bool wait) {
  mark(shared);
  Events& events = source_->events();
  for (; !shared.events.empty(); shared.events.pop_back()) {
    void* event = shared.events.back();
    if (wait ? !events.wait(event) : !events.has_passed(event)) return false;
    events.destroy(event);
  }
  return shared.unmarked.empty();
}

bool Pool::drain_shared(bool wait) {
  std::vector<Shared> ready;
  {
    std::lock_guard guard(shared_mutex_);
    for (size_t i = 0; i < shared_.size();) {
      if (!passed(shared_[i], wait)) {
        ++i;
        continue;
      }
      deferred_.erase(shared_[i].address);
      ready.push_back(std::move(shared_[i]));
      shared_.erase(shared_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    shared_count_ = static_cast<uint32_t>(uses_.size() + shared_.size());
  }
  for (const Shared& shared : ready) release_now(index_.find(shared.address), shared.address, shared.stream);
  if (!ready.empty()) refresh_front();
  return !ready.empty();
}

// A stream ends: no use of it is noted any more, and what waited for it alone comes back.
bool Pool::forget_uses(plat_stream stream, bool synchronize) {
  if (shared_count_.load() == 0) return true;
  if (synchronize && !source_->events().wait_for_stream(stream)) return false;
  {
    std::lock_guard guard(shared_mutex_);
    for (Shared& shared : shared_) {  // it has been waited for
      std::erase(shared.unmarked, stream);
      if (shared.stream == stream) shared.stream = nullptr;
    }
    for (auto use = uses_.begin(); use != uses_.end();) {
      std::erase(use->second, stream);
      use = use->second.empty() ? uses_.erase(use) : std::next(use);
    }
    shared_count_ = static_cast<uint32_t>(uses_.size() + shared_.size());
  }
  drain_shared(false);
  refresh_front();
  return true;
}

void Pool::forget_shared() {
  std::lock_guard guard(shared_mutex_);
  for (const Shared& shared : shared_)
    for (void* event : shared.events) source_->events().destroy(event);
  uses_.clear();
  shared_.clear();
  deferred_.clear();
  shared_count_ = 0;
}

}  // namespace plat::pool
