// SPDX-License-Identifier: Apache-2.0
/* The calls of mstx_ext.h without a library at link time: through the broker, if one is in the process. */
#ifndef PLAT_MSTX_EXT_H
#error "mstx_ext_impl.h belongs to mstx_ext.h: include that one"
#endif
#ifndef PLAT_DETAIL_MSTX_EXT_IMPL_H
#define PLAT_DETAIL_MSTX_EXT_IMPL_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef MSTX_DISABLE

/* NOLINTNEXTLINE(modernize-redundant-void-arg): C needs it */
inline static platMstxBroker_t const* platMstxFind1(void) { return NULL; }

#else

typedef struct platMstxFound1_t {
  int looked;
  platMstxBroker_t const* broker;
} platMstxFound1_t;

extern platMstxFound1_t platMstxFound1;
MSTX_INNER_FUNC_DEFINE platMstxFound1_t platMstxFound1 = {0, NULL};

platMstxBroker_t const* platMstxLook1(void);
MSTX_INNER_FUNC_DEFINE platMstxBroker_t const* platMstxLook1(void) {
  void* const library = dlopen("libms_tools_ext.so", RTLD_LAZY | RTLD_NOLOAD);
  void* const symbol = library != NULL ? dlsym(library, "platMstxGetBroker") : NULL;
  platMstxBroker_t const* broker = NULL;
  if (symbol != NULL) {
    platMstxGetBrokerFunc get;
    memcpy(&get, &symbol, sizeof get);
    broker = get();
    /* An older library has fewer functions than this header knows. */
    if (broker != NULL && broker->structSize < sizeof *broker) broker = NULL;
  }
  /* Threads that look at the same time find the same. */
  __atomic_store_n(&platMstxFound1.broker, broker, __ATOMIC_RELEASE);
  __atomic_store_n(&platMstxFound1.looked, 1, __ATOMIC_RELEASE);
  return broker;
}

/* NOLINTNEXTLINE(modernize-redundant-void-arg): C needs it */
inline static platMstxBroker_t const* platMstxFind1(void) {
  if (__builtin_expect(__atomic_load_n(&platMstxFound1.looked, __ATOMIC_ACQUIRE) == 0, 0))
    return platMstxLook1();
  return __atomic_load_n(&platMstxFound1.broker, __ATOMIC_ACQUIRE);
}

#endif

MSTX_DECLSPEC int platMstxAttach(const char* path, platMstxToolId_t* outId) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->attach(path, outId) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxAttachFunction(mstxInitInjectionFunc init, const char* name,
                                         platMstxToolId_t* outId) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->attachFunction(init, name, outId) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxDetach(platMstxToolId_t id) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->detach(id) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxListTools(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* outCount) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->listTools(tools, capacity, outCount) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxRemember(int on) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->remember(on) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxMemHeapName(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->heapName(domain, heap, name) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxMemHeapReset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->heapReset(domain, heap) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxMemRegionsName(mstxDomainHandle_t domain,
                                         platMstxMemRegionsNameBatch_t const* desc) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->regionsName(domain, desc) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxMemRegionsResize(mstxDomainHandle_t domain,
                                           platMstxMemRegionsResizeBatch_t const* desc) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->regionsResize(domain, desc) : PLAT_MSTX_NO_BROKER;
}

MSTX_DECLSPEC int platMstxMemMarkInitialized(mstxDomainHandle_t domain,
                                             platMstxMemInitializedBatch_t const* desc) {
  platMstxBroker_t const* const broker = platMstxFind1();
  return broker ? broker->markInitialized(domain, desc) : PLAT_MSTX_NO_BROKER;
}

#ifdef __cplusplus
}
#endif

#endif
