// SPDX-License-Identifier: Apache-2.0
// The function slots of a tool, and the getters that hand them out.
//
// A getter has no argument that says who asks, so each tool slot has a getter of its own. Slots are read at
// every call: a tool may store a function late. One that was let go may still hold the addresses, which is
// why they are static.
#pragma once

#include "mstx/broker_types.h"

namespace plat::mstx {

struct ToolSlots {
  // Element 0 of each is never called: it takes what a tool stores one past the end (see mstx_types.h).
  mstxFuncPointer core[MSTX_API_CORE_SIZE];
  mstxFuncPointer domain[MSTX_API_CORE2_SIZE];
  mstxFuncPointer mem[MSTX_API_CORE_MEM_SIZE];
  mstxFuncPointer ext[PLAT_MSTX_FUNC_SIZE];

  void clear();
  bool hears_memory() const;
};

ToolSlots& tool_slots(uint32_t slot);
mstxGetModuleFuncTableFunc tool_getter(uint32_t slot);

// The function in a slot, as its true type; nullptr if the tool left it alone.
template <class Function>
Function load(const mstxFuncPointer& slot) {
  return reinterpret_cast<Function>(__atomic_load_n(&slot, __ATOMIC_ACQUIRE));
}

}  // namespace plat::mstx
