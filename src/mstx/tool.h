// SPDX-License-Identifier: Apache-2.0
// One attached tool: its functions, and the getters that hand out where it stores them.
//
// A getter has no argument that says who asks, so each tool slot has a getter of its own. Functions are read
// at every call: a tool may store one late. A tool that was let go may still hold the addresses, which is why
// they are static.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "mstx/broker_types.h"

namespace plat::mstx {

// Where the functions of each module begin, and the table that leads to them: with room for a store one past
// the end, and for the NULL behind it. Element 0 is never called: it takes that store (see mstx_types.h).
enum Module : uint32_t {
  kCore = 0,
  kDomain = kCore + MSTX_API_CORE_SIZE + 2,
  kMem = kDomain + MSTX_API_CORE2_SIZE + 2,
  kExt = kMem + MSTX_API_CORE_MEM_SIZE + 2,
  kModulesEnd = kExt + PLAT_MSTX_FUNC_SIZE + 2
};

struct ToolFunctions {
  mstxFuncPointer at[kModulesEnd];

  void clear();
  bool hears_memory() const;
};

ToolFunctions& tool_functions(uint32_t slot);
mstxGetModuleFuncTableFunc tool_getter(uint32_t slot);

struct Tool {
  uint32_t slot = 0;
  platMstxToolId_t id = 0;
  std::string name;
  void* library = nullptr;  // what to unload, if it may be unloaded
  mstxInitInjectionFunc init = nullptr;
  ToolFunctions* functions = nullptr;
  std::atomic<bool> gave_range_zero{false};  // it failed to start a range, or counts them from 0
};

// One function that a tool may have: where it stands, and its type.
template <Module kModule, uint32_t kId, class Function>
struct ToolCall {
  // nullptr if the tool left it alone.
  static Function of(const Tool& tool) {
    return reinterpret_cast<Function>(__atomic_load_n(&tool.functions->at[kModule + kId], __ATOMIC_ACQUIRE));
  }
};

using GetToolId = ToolCall<kCore, MSTX_API_CORE_GET_TOOL_ID, mstxGetToolIdFunc>;
using NameHeap = ToolCall<kExt, PLAT_MSTX_FUNC_HEAP_NAME, platMstxHeapNameFunc>;

// What the calls see: the attached tools, in the order in which they are called. Never changed, only
// replaced.
struct ToolSet {
  uint32_t count = 0;
  std::shared_ptr<Tool> tools[PLAT_MSTX_TOOLS_MAX];

  const std::shared_ptr<Tool>* begin() const { return tools; }
  const std::shared_ptr<Tool>* end() const { return tools + count; }
};

}  // namespace plat::mstx
