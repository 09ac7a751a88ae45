// SPDX-License-Identifier: Apache-2.0
// The broker as a tool: how images that have mstx built in come to it.
//
// Every such image, ours or not, looks for an InitInjectionMstx when it makes its first call. It finds this
// one, and its slots get the exported calls. They stay valid for the life of the process, so images may come
// and go, and the broker need not know them.

#include "mstx/broker.h"

namespace {

// Must be what mstx_impl.h says.
constexpr auto kImageModule = static_cast<mstxFuncModule>(0x504c4149);

// Where an image built with our header sees, without a call, that nobody listens.
const int* quiet_word() {
  static_assert(sizeof(plat::mstx::g_board.quiet) == sizeof(int));
  return reinterpret_cast<const int*>(&plat::mstx::g_board.quiet);
}

template <class Function>
void store(mstxFuncTable table, unsigned int size, unsigned int id, Function* function) {
  if (id < size && table[id] != nullptr) *table[id] = reinterpret_cast<mstxFuncPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitInjectionMstx(
    mstxGetModuleFuncTableFunc get_table) {
  if (get_table == nullptr) return MSTX_FAIL;
  mstxFuncTable table = nullptr;
  unsigned int size = 0;
  if (get_table(MSTX_API_MODULE_CORE, &table, &size) == MSTX_SUCCESS) {
    store(table, size, MSTX_API_CORE_MARK_A, mstxMarkA);
    store(table, size, MSTX_API_CORE_RANGE_START_A, mstxRangeStartA);
    store(table, size, MSTX_API_CORE_RANGE_END, mstxRangeEnd);
    store(table, size, MSTX_API_CORE_GET_TOOL_ID, mstxGetToolId);
  }
  if (get_table(MSTX_API_MODULE_CORE_DOMAIN, &table, &size) == MSTX_SUCCESS) {
    store(table, size, MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateA);
    store(table, size, MSTX_API_CORE2_DOMAIN_DESTROY, mstxDomainDestroy);
    store(table, size, MSTX_API_CORE2_DOMAIN_MARK_A, mstxDomainMarkA);
    store(table, size, MSTX_API_CORE2_DOMAIN_RANGE_START_A, mstxDomainRangeStartA);
    store(table, size, MSTX_API_CORE2_DOMAIN_RANGE_END, mstxDomainRangeEnd);
  }
  if (get_table(MSTX_API_MODULE_CORE_MEM, &table, &size) == MSTX_SUCCESS) {
    store(table, size, MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegister);
    store(table, size, MSTX_API_CORE_MEMHEAP_UNREGISTER, mstxMemHeapUnregister);
    store(table, size, MSTX_API_CORE_MEM_REGIONS_REGISTER, mstxMemRegionsRegister);
    store(table, size, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, mstxMemRegionsUnregister);
    store(table, size, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, mstxMemPermissionsAssign);
  }
  if (get_table(kImageModule, &table, &size) == MSTX_SUCCESS) store(table, size, 1, quiet_word);
  return MSTX_SUCCESS;
}
