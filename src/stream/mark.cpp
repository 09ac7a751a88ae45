// SPDX-License-Identifier: Apache-2.0
#include "stream/mark.h"

#include <algorithm>
#include <utility>

#include "stream/board.h"
#include "stream/stream.h"

namespace plat::stream {

Position History::reached(StreamId stream) const {
  auto at = std::lower_bound(entries.begin(), entries.end(), stream,
                             [](const Entry& entry, StreamId id) { return entry.stream < id; });
  return at != entries.end() && at->stream == stream ? at->position : 0;
}

bool Mark::add_waiter(std::shared_ptr<Stream> stream) {
  std::lock_guard lock(mutex_);
  if (done()) return false;
  waiters_.push_back(std::move(stream));
  return true;
}

void Mark::complete(Clock::time_point time) {
  std::vector<std::shared_ptr<Stream>> waiters;
  {
    std::lock_guard lock(mutex_);
    if (done()) return;
    time_ = time;
    done_.store(true, std::memory_order_release);
    waiters.swap(waiters_);
  }
  if (place_) place_->board().reach(place_->index(), number_);
  // Outside of the lock: a woken stream may run at once, in this thread, and look at the mark.
  for (auto& stream : waiters) stream->wake();
}

}  // namespace plat::stream
