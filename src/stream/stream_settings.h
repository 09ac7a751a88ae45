// SPDX-License-Identifier: Apache-2.0
// What clients set for a stream and ask again. Nothing computes here, so that most of it is only kept.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace plat::stream {

// Priorities of streams: 0 is the highest.
inline constexpr uint32_t kPriorityHighest = 0;
inline constexpr uint32_t kPriorityLowest = 7;

class StreamSettings {
 public:
  explicit StreamSettings(uint32_t priority) : priority_(priority) {}

  bool watches_overflow() const { return watches_overflow_.load(); }
  void watch_overflow(bool on) { watches_overflow_.store(on); }
  bool keeps_operator_info() const { return keeps_operator_info_.load(); }
  void keep_operator_info(bool on) { keeps_operator_info_.store(on); }
  uint32_t tag() const { return tag_.load(); }
  void set_tag(uint32_t tag) { tag_.store(tag); }

  // 0 is the highest. Counts from when the stream is next queued.
  uint32_t priority() const { return priority_.load(std::memory_order_relaxed); }
  void set_priority(uint32_t priority) { priority_.store(priority); }

  // How many cores of a kind its work may use; nothing while nobody said.
  std::optional<uint32_t> cores(size_t kind) const {
    const uint64_t cores = cores_[kind].load();
    return cores == kUnset ? std::nullopt : std::optional(static_cast<uint32_t>(cores));
  }
  void set_cores(size_t kind, uint32_t number) { cores_[kind].store(number); }
  void reset_cores() {
    for (auto& cores : cores_) cores.store(kUnset);
  }

 private:
  static constexpr uint64_t kUnset = UINT64_MAX;

  std::atomic<bool> watches_overflow_{false};
  std::atomic<bool> keeps_operator_info_{false};
  std::atomic<uint32_t> tag_{0};
  std::atomic<uint32_t> priority_;
  std::array<std::atomic<uint64_t>, 2> cores_{kUnset, kUnset};
};

}  // namespace plat::stream
