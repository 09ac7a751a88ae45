// SPDX-License-Identifier: Apache-2.0
// Zones: the heaps of a pool, and which of them a request goes to. One is for large blocks and one for spans;
// a tag has two of its own, and a thread that keeps finding the large one taken gets one for middling blocks.
// They live as long as the pool.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "pool/zone.h"

namespace plat::pool {

class Zones {
 public:
  static constexpr uint32_t kMaxOfThreads = 16;

  // `whole`: where what is used is counted, and its peak kept, for several pools together; null: here. Where
  // small blocks are placed like large ones, blocks may be `short`.
  Zones(const SpaceIndex& index, Zones* whole, bool short_blocks);

  Zone& large() { return *large_; }
  const Zone& large() const { return *large_; }
  Zone& small() { return *small_; }
  Zone& of_tag(uint16_t tag, bool small);
  // By number, from 1 on; null for 0. Shown with release, under the mutex.
  Zone* of_thread(uint32_t number) const {
    return number != 0 ? of_threads_[number - 1].load(std::memory_order_acquire) : nullptr;
  }
  // The number of one that the fewest threads have.
  uint32_t add_for_thread(const std::array<uint32_t, kMaxOfThreads>& users);

  template <class Visit>
  void for_each(Visit&& visit) {
    for (size_t i = 0;; ++i) {
      Zone* const zone = at(i);
      if (zone == nullptr) return;
      visit(*zone);
    }
  }
  // Wholly free pages of those that are awake. Takes their locks, one after the other; the caller has that of
  // `locked`, and then the growth lock too.
  uint64_t movable_pages(const Zone* locked = nullptr);

  // The zone has grown. Without its lock: see look_for_peak.
  void note_peak(const Zone& grown) {
    if (grown.used_granules() > grown.peak_from_granules()) whole_->look_for_peak(grown);
  }
  void reset_peak() { whole_->start_peak(); }
  // Relaxed, as all that it is made of: a number that shows nothing else.
  uint64_t peak() const { return whole_->peak_.load(std::memory_order_relaxed); }

 private:
  // What is used beside the large zone.
  uint64_t beside_bytes() const { return small_->awake_bytes() + elsewhere_.load(std::memory_order_relaxed); }
  void look_for_peak(const Zone& grown);
  void start_peak();
  Zone* at(size_t number);
  Zone* add(uint16_t tag, bool small, std::atomic<uint64_t>* tally);

  const SpaceIndex& index_;
  Zones* const whole_;
  const bool short_blocks_;
  std::mutex mutex_;  // guards adding and finding zones; taken last, nothing is called while it is held
  std::vector<std::unique_ptr<Zone>> all_;
  std::unordered_map<uint32_t, Zone*> of_tags_;
  std::array<std::atomic<Zone*>, kMaxOfThreads> of_threads_{};
  Zone* large_ = nullptr;
  Zone* small_ = nullptr;
  // Used beside the large and the small zone: by tags, threads and the pools that are counted here.
  std::atomic<uint64_t> elsewhere_{0};
  std::atomic<uint64_t> peak_{0};
};

}  // namespace plat::pool
