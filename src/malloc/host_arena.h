// SPDX-License-Identifier: Apache-2.0
// HostArena: addresses of page-locked memory, in a window of our own.
//
// Memory is handed out in whole pages of the system and cannot be touched outside of what is handed out.
// Neighbours share one mapping of the kernel. Where frees leave so many holes that mappings would become
// scarce, further holes stay open: their memory goes back to the system, but the kernel does not notice who
// touches them.
#pragma once

#include <atomic>
#include <map>
#include <optional>

#include "base/units.h"
#include "core/range_allocator.h"
#include "os/page.h"

namespace plat::malloc {

class HostArena {
 public:
  HostArena() = default;
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Callers serialise these two. Zeros; nothing when the system refuses.
  std::optional<uint64_t> allocate(uint64_t size_bytes);
  void free(uint64_t start, uint64_t size_bytes);

  // Whether the address can only be page-locked memory, allocated or not. No lock.
  bool contains(Va va) const {
    const uint64_t size = size_bytes_.load(std::memory_order_acquire);  // first: it is stored after the start
    return va.value - start_.load(std::memory_order_relaxed) < size;
  }

 private:
  bool reserve();
  bool open(uint64_t start, uint64_t end);
  bool close(uint64_t start, uint64_t end);

  const uint64_t page_ = os::page_bytes();  // blocks are opened and closed by themselves
  std::atomic<uint64_t> start_{0};
  std::atomic<uint64_t> size_bytes_{0};
  core::RangeAllocator free_;
  std::map<uint64_t, uint64_t> open_;  // what can be touched: start and end, never adjacent
};

}  // namespace plat::malloc
