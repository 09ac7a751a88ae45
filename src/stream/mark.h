// SPDX-License-Identifier: Apache-2.0
// Mark: one record of an event: a place in a stream that other streams wait for.
//
// And History: what a stream is known to run after, from the waits it was given. A stream that waits for a
// mark inherits the history of the stream that made it, so order is known across any number of streams.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stream/ids.h"

namespace plat::stream {

class HeldPlace;
class Stream;

// Sorted by stream; immutable once shared.
struct History {
  struct Entry {
    StreamId stream;
    Position position;
  };
  std::vector<Entry> entries;

  // Up to where the stream is included; 0 if it is not.
  Position reached(StreamId stream) const;
};
using SharedHistory = std::shared_ptr<const History>;

// The union of two histories and one more place. Places that satisfy `done` are left out: everything is after
// those.
template <class Done>
SharedHistory join(const SharedHistory& one, const SharedHistory& other, History::Entry more,
                   const Done& done);

class Mark {
 public:
  // Before the mark's place is known, a wait may already stand for it (bind comes later).
  Mark() = default;
  void bind(std::shared_ptr<Stream> stream, SharedHistory history) {
    stream_ = std::move(stream);
    history_ = std::move(history);
  }

  const std::shared_ptr<Stream>& stream() const { return stream_; }
  Position position() const { return position_.load(); }
  void place(Position position) { position_.store(position); }
  const SharedHistory& history() const { return history_; }

  bool done() const { return done_.load(std::memory_order_acquire); }
  // When it was reached; meaningful once done. Zero when the stream dropped it instead.
  Clock::time_point time() const { return time_; }

  // The stream is woken when the mark is reached. False if it already was.
  bool add_waiter(std::shared_ptr<Stream> stream);
  void complete(Clock::time_point time);
  // Other processes are told, too, when it is reached: it is the record of that number there.
  void announce_at(std::shared_ptr<HeldPlace> place, uint32_t number) {
    place_ = std::move(place);
    number_ = number;
  }
  // The stream was aborted before it got there, and never will.
  void lose() { lost_.store(true); }
  bool is_lost() const { return lost_.load(); }

 private:
  std::shared_ptr<Stream> stream_;
  SharedHistory history_;
  std::shared_ptr<HeldPlace> place_;
  uint32_t number_ = 0;
  std::atomic<Position> position_{0};
  std::atomic<bool> done_{false};
  std::atomic<bool> lost_{false};
  Clock::time_point time_{};
  std::mutex mutex_;  // guards waiters_, and orders adding one against completing
  std::vector<std::shared_ptr<Stream>> waiters_;
};

template <class Done>
SharedHistory join(const SharedHistory& one, const SharedHistory& other, History::Entry more,
                   const Done& done) {
  auto joined = std::make_shared<History>();
  auto& entries = joined->entries;
  for (const SharedHistory* history : {&one, &other}) {
    if (*history) entries.insert(entries.end(), (*history)->entries.begin(), (*history)->entries.end());
  }
  entries.push_back(more);
  std::erase_if(entries, done);
  std::sort(entries.begin(), entries.end(), [](const History::Entry& a, const History::Entry& b) {
    return a.stream != b.stream ? a.stream < b.stream : a.position > b.position;
  });
  // The furthest place of each stream now comes first, and says all.
  entries.erase(
      std::unique(entries.begin(), entries.end(),
                  [](const History::Entry& a, const History::Entry& b) { return a.stream == b.stream; }),
      entries.end());
  return entries.empty() ? nullptr : joined;
}

}  // namespace plat::stream
