// SPDX-License-Identifier: Apache-2.0
// ToolHook: the only place where the pool speaks mstx. Spaces are registered as heaps and blocks as regions,
// if a tool listens; the pool closes its fast path then, so a program without a tool pays nothing. Names and
// resizing are Plat's extension of mstx: where it is missing, a resized region is taken back and registered
// anew, and nothing has a name.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace plat::pool {

class ToolHook {
 public:
  struct Region {
    const void* address;
    uint64_t bytes;
  };

  explicit ToolHook(std::string name);
  ~ToolHook();
  // Relaxed: it is set under the lock of the zone that gets the addresses of a heap, before a block of them
  // can be had. Who has one took it under that lock since, or was given it by who did, and reads true; all
  // other blocks are of addresses that no tool was told of.
  bool listening() const { return listening_.load(std::memory_order_relaxed); }

  // What the tool knows the heap by; null when nobody listens, and then everything about it is kept quiet.
  void* heap_added(const void* base, uint64_t bytes, int32_t device, const std::string& name);
  void heap_removed(void* heap);
  // Every region of the heap goes at once. False where the extension is missing.
  bool heap_reset(void* heap);
  // Each in one call.
  void regions_added(void* heap, const std::vector<Region>& regions, int32_t device);
  void regions_removed(const std::vector<const void*>& addresses);
  void region_resized(void* heap, const Region& region, int32_t device);
  void regions_named(const std::vector<const void*>& addresses, const std::string& name);

  // Blocks that are told in pieces: the tool knows those, and not the block.
  void block_hidden(const void* block);
  void block_gone(const void* block);
  void piece_added(const void* piece);
  void pieces_removed(const std::vector<const void*>& pieces);
  // Every block is freed at once. Of the live ones that are given, those stay that the tool knows, and the
  // pieces come to them.
  void all_gone(std::vector<const void*>* live);

  // While it lives, this thread moves whole pages for the pool itself: padding, gaps, and bytes that nobody
  // wrote.
  class Moving {
   public:
    explicit Moving(const ToolHook& hook);
    ~Moving();
    Moving(const Moving&) = delete;
    Moving& operator=(const Moving&) = delete;

   private:
    const ToolHook& hook_;
    uint64_t range_ = 0;
  };

 private:
  void* domain_ = nullptr;
  std::atomic<bool> listening_{false};
  std::mutex mutex_;  // guards both
  std::unordered_set<const void*> hidden_;
  std::unordered_set<const void*> pieces_;
};

}  // namespace plat::pool
