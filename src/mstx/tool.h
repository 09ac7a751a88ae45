// SPDX-License-Identifier: Apache-2.0
// One attached tool: its functions, and the getters that hand out where it stores them.
//
// A getter has no argument that says who asks, so each tool slot has a getter of its own. Functions are read
// at every call: a tool may store one late. A tool that was let go may still hold the addresses, which is why
// the slots are static.
#pragma once

#include <atomic>
#include <bit>

#include "mstx/broker_types.h"

namespace plat::mstx {

// Each module has a row of functions, and a row that leads to them: with room for a store one past the end,
// and for the NULL behind it. Element 0 is never called: it takes that store (see mstx_types.h).
enum Module : uint32_t { kCore, kDomain, kMem, kExt, kModuleCount };
inline constexpr uint32_t kRowSize = PLAT_MSTX_FUNC_SIZE + 2;

struct Tool {
  uint32_t slot = 0;
  platMstxToolId_t id = 0;
  mstxInitInjectionFunc init = nullptr;      // nullptr: the slot is free
  void* library = nullptr;                   // what to unload, if it may be unloaded
  std::atomic<bool> gave_range_zero{false};  // it failed to start a range, or counts them from 0
  mstxFuncPointer functions[kModuleCount][kRowSize] = {};
  char name[sizeof(platMstxToolInfo_t::name)] = {};

  // nullptr if the tool left it alone.
  mstxFuncPointer stored(Module module, uint32_t place) const {
    return __atomic_load_n(&functions[module][place], __ATOMIC_ACQUIRE);
  }
  bool hears_memory() const {
    for (uint32_t place = 1; place < MSTX_API_CORE_MEM_SIZE; ++place)
      if (stored(kMem, place) != nullptr) return true;
    for (uint32_t place = 1; place <= PLAT_MSTX_FUNC_MARK_INITIALIZED; ++place)
      if (stored(kExt, place) != nullptr) return true;
    return false;
  }
  void clear_functions() {
    for (auto& row : functions)
      for (mstxFuncPointer& function : row) __atomic_store_n(&function, nullptr, __ATOMIC_RELEASE);
  }
};

extern constinit Tool g_tools[PLAT_MSTX_TOOLS_MAX];
mstxGetModuleFuncTableFunc tool_getter(uint32_t slot);

// One function that a tool may have: where it stands, and its type.
template <Module kModule, uint32_t kId, class Function>
struct ToolCall {
  static Function of(const Tool& tool) { return reinterpret_cast<Function>(tool.stored(kModule, kId)); }
};

using GetToolId = ToolCall<kCore, MSTX_API_CORE_GET_TOOL_ID, mstxGetToolIdFunc>;

// What the calls see: the attached tools in the order in which they came, a byte for each, its slot + 1. A
// call takes a copy, so nothing has to be kept for those that see an older one. What is left of a walk
// through a set is a set, too.
struct ToolSet {
  uint64_t slots = 0;

  uint32_t count() const { return static_cast<uint32_t>(std::bit_width(slots) + 7) / 8; }
  ToolSet with(const Tool& tool) const { return {slots | uint64_t{tool.slot + 1} << 8 * count()}; }
  // How many come before it; all of them, if it is none of them.
  uint32_t before(const Tool& tool) const {
    uint32_t before = 0;
    for (ToolSet left = *this; left != ToolSet{} && &*left != &tool; ++left) ++before;
    return before;
  }
  bool has(const Tool& tool) const { return before(tool) < count(); }

  ToolSet begin() const { return *this; }
  ToolSet end() const { return {}; }
  Tool& operator*() const { return g_tools[(slots & 0xff) - 1]; }
  ToolSet& operator++() {
    slots >>= 8;
    return *this;
  }
  bool operator==(const ToolSet&) const = default;
};
static_assert(PLAT_MSTX_TOOLS_MAX <= sizeof(ToolSet));

}  // namespace plat::mstx
