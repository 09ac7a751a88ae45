// SPDX-License-Identifier: Apache-2.0
// ToolBatch: while it lives, what its thread allocates and frees is told to tools together. Blocks that are
// freed come back when it ends, after the tool has heard: before that, nobody else can have them.
// ToolSilence: while it lives, tools hear nothing of what its thread allocates and frees, because somebody
// else tells them. OutsideBatch: while it lives, there is neither. What a callback does is the program's own
// affair, and what it frees must be free when it returns.
//
// ToolBatch and ToolSilence are looked at only where a tool listens.
#pragma once

#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plat/pool.h"
#include "pool/tool_hook.h"

namespace plat::pool {

class Pool;
struct Space;

class ToolBatch {
 public:
  ToolBatch();
  ~ToolBatch();
  ToolBatch(const ToolBatch&) = delete;
  ToolBatch& operator=(const ToolBatch&) = delete;
  // The one of the calling thread, or null. One inside another leaves everything to the outer one.
  static ToolBatch* current();

  void add(ToolHook& hook, void* heap, const ToolHook::Region& region, int32_t device);
  // False when the block is in here already.
  bool remove(Pool& pool, Space& space, void* address, plat_stream stream);
  // Tells what was added, so that more can be said of it.
  void tell_added();
  // Tells everything and gives the blocks back; the first failure, if any.
  plat_pool_status finish();

 private:
  struct Added {
    int32_t device;
    std::vector<ToolHook::Region> regions;
  };
  struct Removed {
    Pool* pool;
    Space* space;
    void* address;
    plat_stream stream;
  };
  const bool outer_;
  std::map<std::pair<ToolHook*, void*>, Added> added_;
  std::vector<Removed> removed_;
  std::unordered_set<const void*> addresses_;  // of removed_
};

class ToolSilence {
 public:
  ToolSilence() { ++depth_; }
  ~ToolSilence() { --depth_; }
  ToolSilence(const ToolSilence&) = delete;
  ToolSilence& operator=(const ToolSilence&) = delete;
  static bool on() { return depth_ != 0; }

 private:
  friend class OutsideBatch;
  static constinit thread_local int depth_;
};

class OutsideBatch {
 public:
  OutsideBatch();
  ~OutsideBatch();
  OutsideBatch(const OutsideBatch&) = delete;
  OutsideBatch& operator=(const OutsideBatch&) = delete;

 private:
  ToolBatch* const batch_;
  const int depth_;
};

}  // namespace plat::pool
