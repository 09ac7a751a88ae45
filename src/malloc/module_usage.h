// SPDX-License-Identifier: Apache-2.0
// How much device memory each module of the program has allocated, now and at most.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace plat::malloc {

inline constexpr uint16_t kModuleApp = 33;  // what calls without a module count for

class ModuleUsage {
 public:
  void add(uint16_t module, uint64_t bytes) {
    Counter& counter = at(module);
    const uint64_t now = counter.current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t peak = counter.peak.load(std::memory_order_relaxed);
    while (peak < now && !counter.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void remove(uint16_t module, uint64_t bytes) {
    at(module).current.fetch_sub(bytes, std::memory_order_relaxed);
  }

  struct Entry {
    std::string name;
    uint64_t current_bytes = 0;
    uint64_t peak_bytes = 0;
  };
  // Modules that ever allocated, largest first.
  std::vector<Entry> entries() const;

 private:
  static constexpr size_t kKnown = 128;
  struct Counter {
    std::atomic<uint64_t> current{0};
    std::atomic<uint64_t> peak{0};
  };
  // Numbers beyond the known ones share the last counter.
  Counter& at(uint16_t module) { return counters_[module < kKnown ? module : kKnown]; }

  std::array<Counter, kKnown + 1> counters_;
};

}  // namespace plat::malloc
