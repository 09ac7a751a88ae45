// SPDX-License-Identifier: Apache-2.0
// How the exported calls reach those who do not link them.
//
// The broker is a tool, too: every image that has mstx built in, ours or not, looks for an InitInjectionMstx
// when it makes its first call. It finds this one, and its slots get the exported calls. They stay valid for
// the life of the process, so images may come and go, and the broker need not know them.

#include "mstx/board.h"
#include "mstx/broker_types.h"

using namespace plat::mstx;

namespace {

// Must be what mstx_impl.h says.
constexpr auto kImageModule = static_cast<mstxFuncModule>(0x504c4149);

// Where an image built with our header sees, without a call, that nobody listens.
const int* quiet_word() {
  static_assert(sizeof(g_board.quiet) == sizeof(int));
  return reinterpret_cast<const int*>(&g_board.quiet);
}

}  // namespace

int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table) {
  if (get_table == nullptr) return MSTX_FAIL;
  const auto store = [=](mstxFuncModule module, unsigned int id, auto* function) {
    mstxFuncTable table = nullptr;
    unsigned int size = 0;
    if (get_table(module, &table, &size) == MSTX_SUCCESS && id < size && table[id] != nullptr)
      *table[id] = reinterpret_cast<mstxFuncPointer>(function);
  };
  store(MSTX_API_MODULE_CORE, MSTX_API_CORE_MARK_A, mstxMarkA);
  store(MSTX_API_MODULE_CORE, MSTX_API_CORE_RANGE_START_A, mstxRangeStartA);
  store(MSTX_API_MODULE_CORE, MSTX_API_CORE_RANGE_END, mstxRangeEnd);
  store(MSTX_API_MODULE_CORE, MSTX_API_CORE_GET_TOOL_ID, mstxGetToolId);
  store(MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateA);
  store(MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_DESTROY, mstxDomainDestroy);
  store(MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_MARK_A, mstxDomainMarkA);
  store(MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_RANGE_START_A, mstxDomainRangeStartA);
  store(MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_RANGE_END, mstxDomainRangeEnd);
  store(MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEMHEAP_REGISTER, mstxMemHeapRegister);
  store(MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEMHEAP_UNREGISTER, mstxMemHeapUnregister);
  store(MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_REGISTER, mstxMemRegionsRegister);
  store(MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, mstxMemRegionsUnregister);
  store(MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, mstxMemPermissionsAssign);
  store(kImageModule, 1, quiet_word);
  return MSTX_SUCCESS;
}

platMstxBroker_t const* platMstxGetBroker(void) {
  static const platMstxBroker_t broker = {
      sizeof(platMstxBroker_t), platMstxAttach,           platMstxAttachFunction,    platMstxDetach,
      platMstxListTools,        platMstxRemember,         platMstxMemHeapName,       platMstxMemHeapReset,
      platMstxMemRegionsName,   platMstxMemRegionsResize, platMstxMemMarkInitialized};
  return &broker;
}
