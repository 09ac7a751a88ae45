// SPDX-License-Identifier: Apache-2.0
/* The bodies of the public calls: through the slot if a tool has filled it, and nothing otherwise. */
#ifndef MSTX_IMPL_GUARD
#error "mstx_impl_core.h belongs to ms_tools_ext.h: include that one"
#endif
#ifndef MSTX_DETAIL_IMPL_CORE_H
#define MSTX_DETAIL_IMPL_CORE_H

#ifdef __cplusplus
extern "C" {
#endif

MSTX_DECLSPEC void mstxMarkA(const char* message, aclrtStream stream) {
  mstxMarkAFunc const call = MSTX_DETAIL_SLOT(mstxMarkAFunc, core, MSTX_API_CORE_MARK_A);
  if (call) call(message, stream);
}

MSTX_DECLSPEC mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  mstxRangeStartAFunc const call = MSTX_DETAIL_SLOT(mstxRangeStartAFunc, core, MSTX_API_CORE_RANGE_START_A);
  return call ? call(message, stream) : MSTX_INVALID_RANGE_ID;
}

MSTX_DECLSPEC void mstxRangeEnd(mstxRangeId id) {
  mstxRangeEndFunc const call = MSTX_DETAIL_SLOT(mstxRangeEndFunc, core, MSTX_API_CORE_RANGE_END);
  if (call) call(id);
}

MSTX_DECLSPEC void mstxGetToolId(uint64_t* id) {
  mstxGetToolIdFunc const call = MSTX_DETAIL_SLOT(mstxGetToolIdFunc, core, MSTX_API_CORE_GET_TOOL_ID);
  if (id == NULL) return;
  *id = MSTX_TOOL_INVALID_ID;
  if (call) call(id);
}

MSTX_DECLSPEC mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  mstxDomainCreateAFunc const call =
      MSTX_DETAIL_NEWS_SLOT(mstxDomainCreateAFunc, domain, MSTX_API_CORE2_DOMAIN_CREATE_A);
  return call ? call(name) : NULL;
}

MSTX_DECLSPEC void mstxDomainDestroy(mstxDomainHandle_t domain) {
  mstxDomainDestroyFunc const call =
      MSTX_DETAIL_SLOT(mstxDomainDestroyFunc, domain, MSTX_API_CORE2_DOMAIN_DESTROY);
  if (call) call(domain);
}

MSTX_DECLSPEC void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  mstxDomainMarkAFunc const call =
      MSTX_DETAIL_SLOT(mstxDomainMarkAFunc, domain, MSTX_API_CORE2_DOMAIN_MARK_A);
  if (call) call(domain, message, stream);
}

MSTX_DECLSPEC mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message,
                                                aclrtStream stream) {
  mstxDomainRangeStartAFunc const call =
      MSTX_DETAIL_SLOT(mstxDomainRangeStartAFunc, domain, MSTX_API_CORE2_DOMAIN_RANGE_START_A);
  return call ? call(domain, message, stream) : MSTX_INVALID_RANGE_ID;
}

MSTX_DECLSPEC void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  mstxDomainRangeEndFunc const call =
      MSTX_DETAIL_SLOT(mstxDomainRangeEndFunc, domain, MSTX_API_CORE2_DOMAIN_RANGE_END);
  if (call) call(domain, id);
}

MSTX_DECLSPEC mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain,
                                                      mstxMemHeapDesc_t const* desc) {
  mstxMemHeapRegisterFunc const call =
      MSTX_DETAIL_NEWS_SLOT(mstxMemHeapRegisterFunc, mem, MSTX_API_CORE_MEMHEAP_REGISTER);
  return call ? call(domain, desc) : NULL;
}

MSTX_DECLSPEC void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  mstxMemHeapUnregisterFunc const call =
      MSTX_DETAIL_SLOT(mstxMemHeapUnregisterFunc, mem, MSTX_API_CORE_MEMHEAP_UNREGISTER);
  if (call) call(domain, heap);
}

MSTX_DECLSPEC void mstxMemRegionsRegister(mstxDomainHandle_t domain,
                                          mstxMemRegionsRegisterBatch_t const* desc) {
  mstxMemRegionsRegisterFunc const call =
      MSTX_DETAIL_NEWS_SLOT(mstxMemRegionsRegisterFunc, mem, MSTX_API_CORE_MEM_REGIONS_REGISTER);
  if (call) call(domain, desc);
}

MSTX_DECLSPEC void mstxMemRegionsUnregister(mstxDomainHandle_t domain,
                                            mstxMemRegionsUnregisterBatch_t const* desc) {
  mstxMemRegionsUnregisterFunc const call =
      MSTX_DETAIL_SLOT(mstxMemRegionsUnregisterFunc, mem, MSTX_API_CORE_MEM_REGIONS_UNREGISTER);
  if (call) call(domain, desc);
}

MSTX_DECLSPEC void mstxMemPermissionsAssign(mstxDomainHandle_t domain,
                                            mstxMemPermissionsAssignBatch_t const* desc) {
  mstxMemPermissionsAssignFunc const call =
      MSTX_DETAIL_SLOT(mstxMemPermissionsAssignFunc, mem, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN);
  if (call) call(domain, desc);
}

#ifdef __cplusplus
}
#endif

#endif
