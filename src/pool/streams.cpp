#include "pool/streams.h"

namespace plat::pool {

Streams::~Streams() {
  for (void* event : spare_events_) events_->destroy(event);
  for (Entry& entry : entries_)
    for (Pending& pending : entry.pending) events_->destroy(pending.event);
}

uint16_t Streams::add(plat_stream stream) {
  std::lock_guard guard(mutex_);
  const uint16_t count = count_.load(std::memory_order_relaxed);
  for (uint16_t i = 0; i < count; ++i) {
    plat_stream seen = entries_[i].stream.load(std::memory_order_relaxed);
    if (seen == stream) return static_cast<uint16_t>(i + 1);
    if (seen == nullptr) {  // forgotten: the place is free
      entries_[i].stream.store(stream, std::memory_order_relaxed);
      return static_cast<uint16_t>(i + 1);
    }
  }
  if (count == kMax) return UINT16_MAX;
  entries_[count].stream.store(stream, std::memory_order_relaxed);
  count_.store(static_cast<uint16_t>(count + 1), std::memory_order_release);
  return static_cast<uint16_t>(count + 1);
}

uint16_t Streams::domain_or_wait(plat_stream stream) {
  const uint16_t domain = domain_of(stream);
  if (domain != UINT16_MAX) return domain;
  return events_->wait_for_stream(stream) ? 0 : UINT16_MAX;
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

uint32_t Streams::passed(uint16_t domain, Effort effort) {
  std::lock_guard guard(mutex_);
  Entry& entry = entries_[domain - 1];
  const plat_stream stream = entry.stream.load(std::memory_order_relaxed);
  const bool dirty = entry.dirty.load(std::memory_order_relaxed);
  if (stream == nullptr || (!dirty && entry.pending.empty())) return 0;
  const uint32_t batch = dirty ? close_batch(entry) : entry.pending.back().batch;
  // A stream with nothing to do needs no event: all of it has passed.
  if (events_->is_idle(stream)) {
    drop_pending(entry);
    return batch;
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
  return passed;
}

uint32_t Streams::make_wait(uint16_t domain, plat_stream waiter) {
  std::lock_guard guard(mutex_);
  Entry& entry = entries_[domain - 1];
  if (entry.stream.load(std::memory_order_relaxed) == nullptr) return 0;
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
      return UINT16_MAX;
    }
    drop_pending(entry);
    return static_cast<uint16_t>(i + 1);
  }
  return 0;
}

void Streams::vacate(uint16_t domain) {
  std::lock_guard guard(mutex_);
  entries_[domain - 1].stream.store(nullptr, std::memory_order_relaxed);
}

}  // namespace plat::pool
