// SPDX-License-Identifier: Apache-2.0
// AddressBudget: how long a range of addresses may be. A process has 8 TiB of device addresses for all of its
// pools and their tags. A long range wastes least, since no block lies across two; so the first pools get
// long ones, and each takes a part of what those before it have left.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "pool/process.h"

namespace plat::pool {

class AddressBudget {
 public:
  static constexpr uint64_t kLeastRange = 1_GiB;

  // One in `share` of what is left. Relaxed: the sum itself loses nothing, and an old one makes a range that
  // is somewhat longer or shorter.
  static uint64_t part(uint64_t share) {
    const uint64_t taken = taken_bytes().load(std::memory_order_relaxed);
    return std::max(kLeastRange, (kAll - std::min(kAll, taken)) / share);
  }
  static void take(uint64_t bytes) { taken_bytes() += bytes; }
  static void give(uint64_t bytes) { taken_bytes() -= bytes; }

 private:
  static constexpr uint64_t kAll = 8_TiB;
  struct Taken {
    std::atomic<uint64_t> bytes{0};
  };
  static std::atomic<uint64_t>& taken_bytes() { return of_this_process<Taken>().bytes; }
};

}  // namespace plat::pool
