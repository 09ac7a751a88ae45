// SPDX-License-Identifier: Apache-2.0
#include "mstx/tool.h"

#include <array>
#include <utility>

namespace plat::mstx {

constinit Tool g_tools[PLAT_MSTX_TOOLS_MAX]{};

namespace {

constexpr struct {
  uint32_t id;
  uint32_t size;
} kModules[kModuleCount] = {{MSTX_API_MODULE_CORE, MSTX_API_CORE_SIZE},
                            {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_SIZE},
                            {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_SIZE},
                            {PLAT_MSTX_MODULE, PLAT_MSTX_FUNC_SIZE}};

// The tables of a tool. Not const because a tool gets each as an array that it may write to; nobody does.
template <uint32_t kSlot>
constinit auto g_tables = [] {
  std::array<std::array<mstxFuncPointer*, kRowSize>, kModuleCount> tables{};
  for (uint32_t module = 0; module < kModuleCount; ++module)
    for (uint32_t id = 1, size = kModules[module].size; id <= size; ++id)
      tables[module][id] = &g_tools[kSlot].functions[module][id % size];
  return tables;
}();

template <uint32_t kSlot>
int get_table(mstxFuncModule id, mstxFuncTable* out_table, unsigned int* out_size) {
  if (out_table == nullptr || out_size == nullptr) return MSTX_FAIL;
  for (uint32_t module = 0; module < kModuleCount; ++module) {
    if (kModules[module].id != value_of(id)) continue;
    *out_table = g_tables<kSlot>[module].data();
    *out_size = kModules[module].size;
    return MSTX_SUCCESS;
  }
  return MSTX_FAIL;
}

}  // namespace

mstxGetModuleFuncTableFunc tool_getter(uint32_t slot) {
  return []<uint32_t... kSlot>(uint32_t wanted, std::integer_sequence<uint32_t, kSlot...>) {
    return std::array{get_table<kSlot>...}[wanted];
  }
  (slot, std::make_integer_sequence<uint32_t, PLAT_MSTX_TOOLS_MAX>());
}

}  // namespace plat::mstx
