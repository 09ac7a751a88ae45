// ToolHook: the only place where the pool speaks mstx. Spaces are registered as heaps and blocks as regions,
// if a tool listens; the pool closes its fast path then, so a program without a tool pays nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plat::pool {

struct Space;

class ToolHook {
 public:
  explicit ToolHook(std::string name);
  ~ToolHook();
  bool listening() const { return listening_; }
  void space_added(Space& space, int32_t device);
  void space_removed(Space& space);
  void block_added(Space& space, const void* address, uint64_t bytes, int32_t device);
  void block_removed(const void* address);
  void blocks_removed(const std::vector<const void*>& addresses);  // in one call

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
  bool listening_ = false;
};

}  // namespace plat::pool
