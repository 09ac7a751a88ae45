// SPDX-License-Identifier: Apache-2.0
#include "pool/uses.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace plat::pool {

void Uses::note(void* address, plat_stream stream) {
  std::lock_guard guard(mutex_);
  auto& streams = uses_[address];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  count();
}

bool Uses::is_waiting(const void* address) {
  if (!any()) return false;
  std::lock_guard guard(mutex_);
  return addresses_.count(address) != 0;
}

Uses::Taken Uses::take_over(void* address, plat_stream stream) {
  if (!any()) return Taken::kNo;
  std::lock_guard guard(mutex_);
  if (addresses_.count(address) != 0) return Taken::kTwice;
  auto uses = uses_.find(address);
  if (uses == uses_.end()) return Taken::kNo;
  // What may fail comes before the first event.
  Waiting waiting{{address, stream}, {}, {}};
  waiting.events.reserve(uses->second.size());
  for (plat_stream other : uses->second)
    if (other != stream) waiting.unrecorded.push_back(other);
  waiting_.reserve(waiting_.size() + 1);
  addresses_.insert(address);
  record_events(waiting);
  uses_.erase(uses);
  waiting_.push_back(std::move(waiting));
  count();
  return Taken::kYes;
}

// One that the device refuses is tried again later, unless the stream is gone.
void Uses::record_events(Waiting& waiting) {
  std::erase_if(waiting.unrecorded, [&](plat_stream stream) {
    void* const event = events_.create();
    if (event == nullptr) return false;
    if (!events_.record(event, stream)) {
      events_.destroy(event);
      return events_.state(stream) == StreamState::kGone;  // it has finished
    }
    waiting.events.push_back(event);
    return true;
  });
}

bool Uses::passed(Waiting& waiting, bool wait) {
  record_events(waiting);
  for (; !waiting.events.empty(); waiting.events.pop_back()) {
    void* const event = waiting.events.back();
    if (wait ? !events_.wait(event) : !events_.has_passed(event)) return false;
    events_.destroy(event);
  }
  return waiting.unrecorded.empty();
}

std::vector<Uses::Freed> Uses::collect(bool wait) {
  std::vector<Freed> freed;
  if (!any()) return freed;
  std::lock_guard guard(mutex_);
  freed.reserve(waiting_.size());
  std::erase_if(waiting_, [&](Waiting& waiting) {
    if (!passed(waiting, wait)) return false;
    addresses_.erase(waiting.block.address);
    freed.push_back(waiting.block);
    return true;
  });
  count();
  return freed;
}

void Uses::forget(plat_stream stream) {
  std::lock_guard guard(mutex_);
  for (Waiting& waiting : waiting_) {
    std::erase(waiting.unrecorded, stream);
    if (waiting.block.stream == stream) waiting.block.stream = nullptr;
  }
  for (auto use = uses_.begin(); use != uses_.end();) {
    std::erase(use->second, stream);
    use = use->second.empty() ? uses_.erase(use) : std::next(use);
  }
  count();
}

void Uses::clear() {
  std::lock_guard guard(mutex_);
  for (const Waiting& waiting : waiting_)
    for (void* event : waiting.events) events_.destroy(event);
  uses_.clear();
  waiting_.clear();
  addresses_.clear();
  count();
}

}  // namespace plat::pool
