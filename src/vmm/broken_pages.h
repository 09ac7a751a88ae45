// SPDX-License-Identifier: Apache-2.0
// BrokenPages: pages of this process whose memory has an uncorrectable error, because a fault plan wanted it.
//
// Whoever pins memory asks any() first, which is one load while everything is whole. Writers hold Vmm::mutex_
// and add a page before its mapping can be pinned. A page is known to the program once work has met it.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "base/units.h"
#include "core/page_table.h"

namespace plat::vmm {

class BrokenPages {
 public:
  static constexpr size_t kMost = 20;  // as many as hardware remembers

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  // Writers. False when there are too many.
  bool add(Va page) {
    for (Slot& slot : slots_) {
      if (slot.page.load(std::memory_order_relaxed) != 0) continue;
      slot.met.store(false, std::memory_order_relaxed);
      slot.page.store(page.value, std::memory_order_release);
      count_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  // Pages of the range are whole again, or gone.
  void remove(Va start, uint64_t size_bytes) {
    for (Slot& slot : slots_) {
      const uint64_t page = slot.page.load(std::memory_order_relaxed);
      if (page == 0 || page - start.value >= size_bytes) continue;
      slot.page.store(0, std::memory_order_relaxed);
      count_.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  // The first broken page that the range touches; work has met it then.
  std::optional<Va> meet(Va start, Va end) const {
    std::optional<Va> first;
    for (const Slot& slot : slots_) {
      const uint64_t page = slot.page.load(std::memory_order_acquire);
      if (page == 0 || page >= end.value || page + core::kPageBytes <= start.value) continue;
      slot.met.store(true, std::memory_order_relaxed);
      if (!first || page < first->value) first = Va{page};
    }
    return first;
  }
  // visit(page) for each that work has met.
  template <class Visit>
  void for_each_met(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (const uint64_t page = slot.page.load(std::memory_order_acquire);
          page != 0 && slot.met.load(std::memory_order_relaxed))
        visit(Va{page});
  }

 private:
  struct Slot {
    std::atomic<uint64_t> page{0};  // its address; 0: nothing is here
    mutable std::atomic<bool> met{false};
  };
  std::array<Slot, kMost> slots_;
  std::atomic<uint32_t> count_{0};
};

}  // namespace plat::vmm
