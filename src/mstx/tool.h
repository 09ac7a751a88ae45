// SPDX-License-Identifier: Apache-2.0
// One attached tool: its functions, and what it calls the domains.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "mstx/broker_types.h"
#include "mstx/gate.h"
#include "mstx/handles.h"
#include "mstx/tool_slots.h"

namespace plat::mstx {

// A tool's names for domains. They are not kept with the records, as those of heaps and regions are, because
// every domain mark reads them: written under the registry lock, read without. An entry counts only for the
// generation it was made for, so entries of domains that are gone need no cleaning up.
class DomainTable {
 public:
  // Domains that may live at once.
  static constexpr uint32_t kMax = 4096;

  void set(Handle handle, void* tool_handle) {
    if (handle.index >= kMax) return;
    Entry& entry = entries_[handle.index];
    // No reader takes the new handle for the old generation, or the other way round.
    if (entry.generation.load(std::memory_order_relaxed) != handle.generation)
      entry.generation.store(0, std::memory_order_seq_cst);
    entry.tool_handle.store(tool_handle, std::memory_order_seq_cst);
    entry.generation.store(handle.generation, std::memory_order_seq_cst);
  }

  // Nothing: the tool was not told. NULL: it was told and gave no handle.
  std::optional<void*> find(Handle handle) const {
    if (!handle || handle.index >= kMax) return std::nullopt;
    const Entry& entry = entries_[handle.index];
    if (entry.generation.load(std::memory_order_seq_cst) != handle.generation) return std::nullopt;
    void* const tool_handle = entry.tool_handle.load(std::memory_order_seq_cst);
    if (entry.generation.load(std::memory_order_seq_cst) != handle.generation) return std::nullopt;
    return tool_handle;
  }

 private:
  struct Entry {
    std::atomic<void*> tool_handle;
    std::atomic<uint32_t> generation;
  };
  std::unique_ptr<Entry[]> entries_ = std::make_unique<Entry[]>(kMax);
};

struct Tool {
  uint32_t slot = 0;
  platMstxToolId_t id = 0;
  std::string name;
  void* library = nullptr;  // what to unload, if it may be unloaded
  mstxInitInjectionFunc init = nullptr;
  ToolSlots* functions = nullptr;
  std::atomic<bool> gave_range_zero{false};  // it failed to start a range, or counts them from 0
  DomainTable domains;
};

// What the calls see: the attached tools, in the order in which they are called. Never changed, only
// replaced.
struct ToolSet {
  uint32_t count = 0;
  Tool* tools[PLAT_MSTX_TOOLS_MAX] = {};

  Tool* const* begin() const { return tools; }
  Tool* const* end() const { return tools + count; }
};

// Marks a tool as being on this thread's stack. What a tool itself causes while it is called is not told to
// it: it knows, and it would never end.
class InsideTool {
 public:
  InsideTool(ThreadState& thread, const Tool& tool) : thread_(thread), bit_(1u << tool.slot) {
    entered_ = (thread_.inside_tools & bit_) == 0;
    thread_.inside_tools |= bit_;
  }
  ~InsideTool() {
    if (entered_) thread_.inside_tools &= ~bit_;
  }
  InsideTool(const InsideTool&) = delete;
  InsideTool& operator=(const InsideTool&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  ThreadState& thread_;
  uint32_t bit_;
  bool entered_;
};

}  // namespace plat::mstx
