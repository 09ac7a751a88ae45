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
  events_->wait_for_stream(stream);
  return 0;
}

void* Streams::new_event() {
  if (!spare_events_.empty()) {
    void* event = spare_events_.back();
    spare_events_.pop_back();
    return event;
  }
  return events_->create();
}

bool Streams::record(Entry& entry) {
  if (!entry.dirty.load(std::memory_order_relaxed)) return true;
  void* event = new_event();
  if (event == nullptr) return false;
  // The batch closes before the event is recorded: a free that comes between them waits for the next event,
  // never too little.
  entry.dirty.store(false, std::memory_order_relaxed);
  const uint32_t batch = entry.batch.fetch_add(1);
  if (!events_->record(event, entry.stream.load(std::memory_order_relaxed))) {
    spare_events_.push_back(event);
    entry.dirty.store(true, std::memory_order_relaxed);
    return false;
  }
  entry.pending.push_back(Pending{event, batch});
  return true;
}

uint32_t Streams::passed(uint16_t domain, Effort effort) {
  std::lock_guard guard(mutex_);
  Entry& entry = entries_[domain - 1];
  if (entry.stream.load(std::memory_order_relaxed) == nullptr) return 0;
  record(entry);
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
  if (entry.stream.load(std::memory_order_relaxed) == nullptr || !record(entry) || entry.pending.empty())
    return 0;
  const Pending& last = entry.pending.back();
  return events_->make_wait(waiter, last.event) ? last.batch : 0;
}

uint16_t Streams::forget(plat_stream stream) {
  std::lock_guard guard(mutex_);
  const uint16_t count = count_.load(std::memory_order_relaxed);
  for (uint16_t i = 0; i < count; ++i) {
    Entry& entry = entries_[i];
    if (entry.stream.load(std::memory_order_relaxed) != stream) continue;
    if (!events_->wait_for_stream(stream)) return UINT16_MAX;
    for (Pending& pending : entry.pending) spare_events_.push_back(pending.event);
    entry.pending.clear();
    entry.dirty.store(false, std::memory_order_relaxed);
    entry.stream.store(nullptr, std::memory_order_relaxed);
    return static_cast<uint16_t>(i + 1);
  }
  return 0;
}

}  // namespace plat::pool
