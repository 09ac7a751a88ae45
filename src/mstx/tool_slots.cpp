// SPDX-License-Identifier: Apache-2.0
#include "mstx/tool_slots.h"

#include <array>
#include <utility>

namespace plat::mstx {
namespace {

constexpr uint32_t kTools = PLAT_MSTX_TOOLS_MAX;

constinit ToolSlots g_slots[kTools]{};

// One module's table: NULL, the slots, the place for a store one past the end, NULL.
template <size_t Count>
struct Table {
  std::array<mstxFuncPointer*, Count + 2> entries{};
  constexpr explicit Table(mstxFuncPointer (&slots)[Count]) {
    for (size_t id = 1; id < Count; ++id) entries[id] = &slots[id];
    entries[Count] = &slots[0];
  }
};

struct Tables {
  Table<MSTX_API_CORE_SIZE> core;
  Table<MSTX_API_CORE2_SIZE> domain;
  Table<MSTX_API_CORE_MEM_SIZE> mem;
  Table<PLAT_MSTX_FUNC_SIZE> ext;
  constexpr explicit Tables(ToolSlots& slots)
      : core(slots.core), domain(slots.domain), mem(slots.mem), ext(slots.ext) {}
};

template <size_t... Slot>
constexpr std::array<Tables, kTools> make_tables(std::index_sequence<Slot...>) {
  return {Tables(g_slots[Slot])...};
}

// Written by nobody; not const because a tool gets it as an array that it may write to.
constinit std::array<Tables, kTools> g_tables = make_tables(std::make_index_sequence<kTools>());

template <size_t Count>
int hand_out(Table<Count>& table, mstxFuncTable* out_table, unsigned int* out_size) {
  *out_table = table.entries.data();
  *out_size = Count;
  return MSTX_SUCCESS;
}

template <size_t Slot>
int get_table(mstxFuncModule module, mstxFuncTable* out_table, unsigned int* out_size) {
  if (out_table == nullptr || out_size == nullptr) return MSTX_FAIL;
  Tables& tables = g_tables[Slot];
  if (module == MSTX_API_MODULE_CORE) return hand_out(tables.core, out_table, out_size);
  if (module == MSTX_API_MODULE_CORE_DOMAIN) return hand_out(tables.domain, out_table, out_size);
  if (module == MSTX_API_MODULE_CORE_MEM) return hand_out(tables.mem, out_table, out_size);
  if (module == PLAT_MSTX_MODULE) return hand_out(tables.ext, out_table, out_size);
  return MSTX_FAIL;
}

template <size_t... Slot>
constexpr std::array<mstxGetModuleFuncTableFunc, kTools> make_getters(std::index_sequence<Slot...>) {
  return {get_table<Slot>...};
}

constexpr auto kGetters = make_getters(std::make_index_sequence<kTools>());

template <size_t Count>
void clear_all(mstxFuncPointer (&slots)[Count]) {
  for (mstxFuncPointer& slot : slots) __atomic_store_n(&slot, nullptr, __ATOMIC_RELEASE);
}

}  // namespace

void ToolSlots::clear() {
  clear_all(core);
  clear_all(domain);
  clear_all(mem);
  clear_all(ext);
}

bool ToolSlots::hears_memory() const {
  for (size_t id = 1; id < MSTX_API_CORE_MEM_SIZE; ++id)
    if (load<mstxFuncPointer>(mem[id]) != nullptr) return true;
  for (size_t id = PLAT_MSTX_FUNC_HEAP_NAME; id <= PLAT_MSTX_FUNC_MARK_INITIALIZED; ++id)
    if (load<mstxFuncPointer>(ext[id]) != nullptr) return true;
  return false;
}

ToolSlots& tool_slots(uint32_t slot) { return g_slots[slot]; }
mstxGetModuleFuncTableFunc tool_getter(uint32_t slot) { return kGetters[slot]; }

}  // namespace plat::mstx
