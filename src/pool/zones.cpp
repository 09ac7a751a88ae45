// SPDX-License-Identifier: Apache-2.0
#include "pool/zones.h"

namespace plat::pool {

namespace {
void write_before_looking() {
#if !defined(__SANITIZE_THREAD__)  // which knows no fences, and finds no race in what is atomic
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
}  // namespace

Zones::Zones(const SpaceIndex& index, Zones* whole, bool short_blocks)
    : index_(index), whole_(whole != nullptr ? whole : this), short_blocks_(short_blocks) {
  std::atomic<uint64_t>* const tally = whole != nullptr ? &whole->elsewhere_ : nullptr;
  large_ = add(0, false, tally);
  small_ = add(0, true, tally);
}

Zone* Zones::add(uint16_t tag, bool small, std::atomic<uint64_t>* tally) {
  all_.push_back(std::make_unique<Zone>(index_, tag, small, short_blocks_ && !small, tally));
  return all_.back().get();
}

Zone* Zones::at(size_t number) {
  std::lock_guard guard(mutex_);
  return number < all_.size() ? all_[number].get() : nullptr;
}

Zone& Zones::of_tag(uint16_t tag, bool small) {
  std::lock_guard guard(mutex_);
  Zone*& zone = of_tags_[(uint32_t{tag} << 1) | small];
  if (zone == nullptr) zone = add(tag, small, &whole_->elsewhere_);
  return *zone;
}

uint32_t Zones::add_for_thread(const std::array<uint32_t, kMaxOfThreads>& users) {
  std::lock_guard guard(mutex_);
  const auto least = static_cast<uint32_t>(std::min_element(users.begin(), users.end()) - users.begin());
  if (of_threads_[least].load(std::memory_order_relaxed) == nullptr)
    of_threads_[least].store(add(0, false, &whole_->elsewhere_), std::memory_order_release);
  return least + 1;
}

uint64_t Zones::movable_pages(const Zone* locked) {
  uint64_t pages = 0;
  for_each([&](Zone& zone) {
    if (zone.is_asleep()) return;  // what sleeps has no pages
    std::unique_lock guard(zone.lock(), std::defer_lock);
    if (&zone != locked) guard.lock();
    pages += zone.heap().movable_pages();
  });
  return pages;
}

// The large zone, which most blocks come from, is told how far it may grow before it can make a new peak: as
// long as nobody else grows. Whoever does lowers it; the large zone itself raises it again.
//
// Numbers, and nothing hangs on them, so that all are relaxed. But who raises the limit and who grows, or
// begins the peak anew, must not miss each other, or the large zone would pass the peak without a look, and
// nobody would notice: each writes and then looks at what the other writes, with a fence between
// (tests/model/peak_test.cpp). A peak that comes about while somebody looks may still be late by what has
// grown meanwhile: then the limit is lower than what the large zone has, and the next block makes up for it.
void Zones::look_for_peak(const Zone& grown) {
  write_before_looking();  // the caller has grown
  const uint64_t beside = beside_bytes();
  const uint64_t used = large_->awake_bytes() + beside;
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
  peak = std::max(used, peak);
  const uint64_t peak_from = (peak - beside) >> core::kGranuleShift;
  if (&grown != large_ && peak_from >= large_->peak_from_granules()) return;
  large_->set_peak_from_granules(peak_from);
  write_before_looking();
  const bool has_changed = beside_bytes() > beside || peak_.load(std::memory_order_relaxed) < peak;
  if (has_changed) large_->set_peak_from_granules(0);  // by somebody meanwhile
}

void Zones::start_peak() {
  peak_.store(large_->awake_bytes() + beside_bytes(), std::memory_order_relaxed);
  write_before_looking();
  large_->set_peak_from_granules(0);
}

}  // namespace plat::pool
