// SPDX-License-Identifier: Apache-2.0
#include "mstx/tool.h"

#include <array>
#include <utility>

namespace plat::mstx {

constinit Tool g_tools[PLAT_MSTX_TOOLS_MAX]{};

namespace {

constexpr struct {
  uint32_t id;
  uint32_t first;
  uint32_t count;
} kModules[] = {{MSTX_API_MODULE_CORE, kCore, MSTX_API_CORE_SIZE},
                {MSTX_API_MODULE_CORE_DOMAIN, kDomain, MSTX_API_CORE2_SIZE},
                {MSTX_API_MODULE_CORE_MEM, kMem, MSTX_API_CORE_MEM_SIZE},
                {PLAT_MSTX_MODULE, kExt, PLAT_MSTX_FUNC_SIZE}};

// The tables of a tool, one behind the other. Each: NULL, where the functions are stored, the place for a
// store one past the end, NULL. Written by nobody; not const because a tool gets it as an array that it may
// write to.
template <uint32_t kSlot>
constinit auto g_tables = [] {
  std::array<mstxFuncPointer*, kModulesEnd> tables{};
  for (const auto& module : kModules)
    for (uint32_t id = 1; id <= module.count; ++id)
      tables[module.first + id] = &g_tools[kSlot].functions[module.first + id % module.count];
  return tables;
}();

template <uint32_t kSlot>
int get_table(mstxFuncModule id, mstxFuncTable* out_table, unsigned int* out_size) {
  if (out_table == nullptr || out_size == nullptr) return MSTX_FAIL;
  for (const auto& module : kModules) {
    if (module.id != value_of(id)) continue;
    *out_table = &g_tables<kSlot>[module.first];
    *out_size = module.count;
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

void Tool::clear_functions() {
  for (mstxFuncPointer& function : functions) __atomic_store_n(&function, nullptr, __ATOMIC_RELEASE);
}

bool Tool::hears_memory() const {
  for (uint32_t i = kMem + 1; i <= uint32_t{kExt} + PLAT_MSTX_FUNC_MARK_INITIALIZED; ++i)
    if (i != kExt && __atomic_load_n(&functions[i], __ATOMIC_ACQUIRE) != nullptr) return true;
  return false;
}

}  // namespace plat::mstx
