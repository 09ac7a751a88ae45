// SPDX-License-Identifier: Apache-2.0
#include "pool/streams.h"

#include <algorithm>

namespace plat::pool {

Streams::~Streams() {
  for (void* event : spare_events_) events_->destroy(event);
  for (Entry& entry : entries_)
    for (Pending& pending : entry.pending) events_->destroy(pending.event);
}

bool Streams::was_here(plat_stream stream) const {
  return std::find(former_.begin(), former_.end(), stream) != former_.end();
}

bool Streams::knows(plat_stream stream) {
  const uint16_t count = count_.load(std::memory_order_acquire);
  for (uint16_t i = 0; i < count; ++i)
    if (entries_[i].stream.load(std::memory_order_relaxed) == stream) return true;
  {
    std::lock_guard guard(mutex_);
    if (was_here(stream)) return true;
  }
  return events_->state(stream) != StreamState::kGone;
}

uint16_t Streams::add(plat_stream stream) {
  if (events_->state(stream) == StreamState::kGone) return kNoStream;
  std::lock_guard guard(mutex_);
  const uint16_t count = count_.load(std::memory_order_relaxed);
  // All of them first: another thread may have added it beyond a place that has come free since.
  uint16_t place = count;
  for (uint16_t i = count; i-- > 0;) {
    const plat_stream seen = entries_[i].stream.load(std::memory_order_relaxed);
    if (seen == stream) return static_cast<uint16_t>(i + 1);
    if (seen == nullptr) place = i;  // forgotten: the place is free
  }
  if (place == kMax) return kTooMany;
  entries_[place].stream.store(stream, std::memory_order_relaxed);
  if (place == count) count_.store(static_cast<uint16_t>(count + 1), std::memory_order_release);
  return static_cast<uint16_t>(place + 1);
}

uint16_t Streams::domain_to_free_on(plat_stream stream) {
  const uint16_t domain = domain_of(stream);
  if (domain == kNoStream) {
    std::lock_guard guard(mutex_);
    return was_here(stream) ? 0 : kNoStream;
  }
  if (domain != kTooMany) return domain;
  return events_->wait_for_stream(stream) ? 0 : kTooMany;
}

void* Streams::new_event() {
  if (!spare_events_.empty()) {
    void* event = spare_events_.back();
    spare_events_.pop_back();
    return event;
  }
  return events_->create();
}

// An event behind a batch that is closed: a free that comes between the two waits for the next event, never
// too little.
bool Streams::record(Entry& entry, uint32_t batch) {
  void* const event = new_event();
  if (event != nullptr && events_->record(event, entry.stream.load(std::memory_order_relaxed))) {
    entry.pending.push_back(Pending{event, batch});
    return true;
  }
  if (event != nullptr) spare_events_.push_back(event);
  entry.dirty.store(true, std::memory_order_relaxed);
  return false;
}

void Streams::drop_pending(Entry& entry) {
  for (Pending& pending : entry.pending) spare_events_.push_back(pending.event);
  entry.pending.clear();
}

// A stream that is gone may be followed by another of the same name before the pool has drawn its
// conclusions. So the place is hidden before the stream is asked for once more: who has a new one, and found
// the place before that, made it before it is asked for, and it is there.
StreamState Streams::state_of(Entry& entry, plat_stream stream) {
  StreamState state = events_->state(stream);
  if (state != StreamState::kGone) return state;
  if (former_.size() < kFormer) former_.reserve(former_.size() + 1);  // before anything changes
  entry.stream.store(&entry, std::memory_order_relaxed);              // no stream's name
  events_->forget(stream);
  state = events_->state(stream);
  if (state == StreamState::kGone)
    note_former(stream);
  else
    entry.stream.store(stream, std::memory_order_relaxed);
  return state;
}

Streams::Passed Streams::passed(uint16_t domain, Effort effort) {
  std::lock_guard guard(mutex_);
  Entry& entry = entries_[domain - 1];
  const plat_stream stream = entry.stream.load(std::memory_order_relaxed);
  const bool dirty = entry.dirty.load(std::memory_order_relaxed);
  if (!dirty && entry.pending.empty()) return {};
  if (stream == nullptr) return {close_batch(entry)};  // a free that came while the domain was vacated
  if (stream == &entry)
    return {close_batch(entry), stream};  // the last who found it gone did not come to an end
  const uint32_t batch = dirty ? close_batch(entry) : entry.pending.back().batch;
  // A stream with nothing to do needs no event: all of it has passed. So it has when it is there no more.
  const StreamState state = state_of(entry, stream);
  if (state == StreamState::kIdle || state == StreamState::kGone) {
    drop_pending(entry);
    return {batch, state == StreamState::kGone ? stream : nullptr};
  }
  if (dirty) record(entry, batch);
  uint32_t passed = 0;
  size_t done = 0;
  for (; done < entry.pending.size(); ++done) {
    void* event = entry.pending[done].event;
    if (effort == Effort::kWait ? !events_->wait(event) : !events_->has_passed(event)) break;
    passed = entry.pending[done].batch;
    spare_events_.push_back(event);
  }
  entry.pending.erase(entry.pending.begin(), entry.pending.begin() + static_cast<std::ptrdiff_t>(done));
  return {passed};
}

uint32_t Streams::make_wait(uint16_t domain, plat_stream waiter) {
  std::lock_guard guard(mutex_);
  Entry& entry = entries_[domain - 1];
  const plat_stream stream = entry.stream.load(std::memory_order_relaxed);
  if (stream == nullptr || stream == &entry) return 0;
  if (entry.dirty.load(std::memory_order_relaxed) && !record(entry, close_batch(entry))) return 0;
  if (entry.pending.empty()) return 0;
  const Pending& last = entry.pending.back();
  return events_->make_wait(waiter, last.event) ? last.batch : 0;
}

uint16_t Streams::finish(plat_stream stream, uint32_t* batch) {
  std::lock_guard guard(mutex_);
  const uint16_t count = count_.load(std::memory_order_relaxed);
  for (uint16_t i = 0; i < count; ++i) {
    Entry& entry = entries_[i];
    if (entry.stream.load(std::memory_order_relaxed) != stream) continue;
    *batch = close_batch(entry);
    if (!events_->wait_for_stream(stream)) {
      entry.dirty.store(true, std::memory_order_relaxed);
      return kTooMany;
    }
    drop_pending(entry);
    return static_cast<uint16_t>(i + 1);
  }
  return 0;
}

void Streams::note_former(plat_stream stream) {
  if (was_here(stream)) return;
  if (former_.size() < kFormer)
    former_.push_back(stream);
  else
    former_[next_former_++ % kFormer] = stream;
}

void Streams::vacate(uint16_t domain) {
  std::lock_guard guard(mutex_);
  if (former_.size() < kFormer) former_.reserve(former_.size() + 1);  // before anything changes
  Entry& entry = entries_[domain - 1];
  const plat_stream stream = entry.stream.exchange(nullptr, std::memory_order_relaxed);
  if (stream == &entry) return;  // it was gone, and that was noted
  events_->forget(stream);
  note_former(stream);
}

}  // namespace plat::pool
