// SPDX-License-Identifier: Apache-2.0
// Depot: small blocks on their way from one thread to another. A thread that has too many of a class puts
// most of them here, and one that has none takes what is here, so that blocks which wander do not trouble
// their spans. Each class has a shelf with a lock of its own, in a line of its own: two threads that hand
// blocks to each other meet there once for many blocks, and nowhere else.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "pool/lock.h"
#include "pool/size_class.h"
#include "pool/small_table.h"

namespace plat::pool {

class Depot {
 public:
  // Takes in the first of `count` blocks that nobody uses, with their flags; how many there was room for.
  // Throws std::bad_alloc, and then it took none.
  uint32_t put(uint32_t index, const SmallBlock* blocks, uint32_t count);
  // Up to `count` blocks of a class, the last that came.
  uint32_t take(uint32_t index, SmallBlock* out, uint32_t count);
  // A second thread uses the pool: more blocks will be on their way. Relaxed: who hears of it late puts fewer
  // here, and what there is room for was there from the beginning.
  void widen() { stacks_.store(kMostStacks, std::memory_order_relaxed); }
  void clear();

  // Sizes are written under the locks and read without, for sums: whoever needs a true one keeps others away.
  uint32_t count(uint32_t index) const { return shelves_[index].size.load(std::memory_order_relaxed); }
  uint64_t blocks() const;
  uint64_t bytes() const;

 private:
  // How many threads' stacks of a class there is room for, while one thread uses the pool and later.
  static constexpr uint32_t kStacks = 4;
  static constexpr uint32_t kMostStacks = 8;
  struct alignas(64) Shelf {
    SpinLock lock;
    std::atomic<uint32_t> size{0};
    std::unique_ptr<SmallBlock[]> blocks;  // made when first needed
  };
  std::atomic<uint32_t> stacks_{kStacks};
  std::array<Shelf, kClasses> shelves_;
};

}  // namespace plat::pool
