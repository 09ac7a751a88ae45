// SPDX-License-Identifier: Apache-2.0
// ImportedParts: which parts of an imported region were handed over by keys.
//
// A key stands for part of a block, and a region holds whole pages, in which other blocks of the exporter may
// lie. Answers without a lock; changes are made under Ipc::mutex_. Parts are never freed, only used again.
#pragma once

#include <atomic>
#include <deque>
#include <optional>

#include "vmm/address_space.h"

namespace plat::share {

class ImportedParts final : public vmm::SubBlocks {
 public:
  // Where parts overlap, the one that reaches farthest.
  std::optional<Block> block_at(Va va) const override {
    std::optional<Block> found;
    for (const Part* part = first_.load(std::memory_order_acquire); part != nullptr; part = part->next) {
      const uint64_t size_bytes = part->size_bytes.load(std::memory_order_acquire);
      const Va start{part->start.load(std::memory_order_acquire)};
      // Read again: the part may have been given to another key between the two.
      const bool inside = va.value - start.value < size_bytes &&
                          part->size_bytes.load(std::memory_order_acquire) == size_bytes;
      if (inside && (!found || found->start + found->size_bytes < start + size_bytes))
        found = Block{start, size_bytes};
    }
    return found;
  }

  bool has_tag(const Tag*) const override { return false; }

  void add(Va start, uint64_t size_bytes) {
    Part* vacant = nullptr;
    for (Part& part : parts_)
      if (part.size_bytes.load(std::memory_order_relaxed) == 0) vacant = &part;
    if (vacant == nullptr) {
      vacant = &parts_.emplace_back();
      vacant->next = first_.load(std::memory_order_relaxed);
      first_.store(vacant, std::memory_order_release);
    }
    vacant->start.store(start.value, std::memory_order_release);
    vacant->size_bytes.store(size_bytes, std::memory_order_release);
  }

  void remove(Va start, uint64_t size_bytes) {
    for (Part& part : parts_)
      if (part.start.load(std::memory_order_relaxed) == start.value &&
          part.size_bytes.load(std::memory_order_relaxed) == size_bytes) {
        part.size_bytes.store(0, std::memory_order_release);
        return;
      }
  }

 private:
  struct Part {
    std::atomic<uint64_t> start{0};
    std::atomic<uint64_t> size_bytes{0};  // 0: vacant
    const Part* next = nullptr;
  };
  std::atomic<const Part*> first_{nullptr};
  std::deque<Part> parts_;
};

}  // namespace plat::share
