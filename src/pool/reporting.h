// SPDX-License-Identifier: Apache-2.0
// Reporting: what tools are told of a pool: its spaces are heaps, its blocks regions. Nothing here is asked
// unless a tool listens, but for that question and for new spaces.
#pragma once

#include <string>
#include <vector>

#include "pool/source.h"
#include "pool/tool_hook.h"
#include "pool/uses.h"
#include "pool/zones.h"

namespace plat::pool {

class Pool;

class Reporting {
 public:
  Reporting(const std::string& name, Source& source, const SpaceIndex& index, Uses& uses)
      : name_(name), source_(source), index_(index), uses_(uses), tool_(name) {}

  bool listening() const { return tool_.listening(); }
  ToolHook& tool() { return tool_; }

  void space_added(Space& space);
  void space_removed(Space& space) { tool_.heap_removed(space.tool_heap); }
  void block_added(const void* address, uint64_t bytes, uint16_t tag);
  // A block is freed, and the tool hears of it before the block can become another's. kLater: it goes with
  // others, at the end of a ToolBatch, which then frees it; kTwice: it is there already.
  enum class Freed { kNow, kLater, kTwice };
  Freed block_freed(Pool& pool, Space& space, void* address, plat_stream stream);
  void block_resized(const Space& space, const void* address, uint64_t bytes);
  void block_named(const void* address, const char* name);
  // A part of a block that stands for it.
  void piece_added(const void* address, uint64_t bytes, const std::string& name);
  // Every block is about to be freed: a call for each heap, or one with all regions where that is not known.
  void all_freed(Zones& zones);

 private:
  const std::string& name_;
  Source& source_;
  const SpaceIndex& index_;
  Uses& uses_;
  ToolHook tool_;
};

}  // namespace plat::pool
