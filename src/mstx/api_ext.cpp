// The exported calls of our own, by name and as the table that dlsym finds.

#include "mstx/api.h"

using plat::mstx::Broker;
using plat::mstx::nobody_listens;

namespace {

// The same as guarded(), with a code for it.
template <class Call>
int answered(Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return PLAT_MSTX_NO_MEMORY;
  }
}

}  // namespace

extern "C" {

// Tools come in the order of the environment, so that is looked at before anything is attached by hand.
int platMstxAttach(const char* path, platMstxToolId_t* out_id) {
  nobody_listens();
  return answered([&] { return Broker::get().attach_path(path, out_id); });
}

int platMstxAttachFunction(mstxInitInjectionFunc init, const char* name, platMstxToolId_t* out_id) {
  nobody_listens();
  return answered([&] { return Broker::get().attach(init, name, nullptr, out_id); });
}

int platMstxDetach(platMstxToolId_t id) {
  nobody_listens();
  return answered([&] { return Broker::get().detach(id); });
}

int platMstxListTools(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* out_count) {
  nobody_listens();
  return answered([&] { return Broker::get().list(tools, capacity, out_count); });
}

int platMstxRemember(int on) {
  nobody_listens();
  return answered([&] { return Broker::get().remember(on != 0); });
}

int platMstxMemHeapName(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return answered([&] { return Broker::get().heap_name(domain, heap, name); });
}

int platMstxMemHeapReset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return answered([&] { return Broker::get().heap_reset(domain, heap); });
}

int platMstxMemRegionsName(mstxDomainHandle_t domain, platMstxMemRegionsNameBatch_t const* desc) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return answered([&] { return Broker::get().regions_name(domain, desc); });
}

int platMstxMemRegionsResize(mstxDomainHandle_t domain, platMstxMemRegionsResizeBatch_t const* desc) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return answered([&] { return Broker::get().regions_resize(domain, desc); });
}

int platMstxMemMarkInitialized(mstxDomainHandle_t domain, platMstxMemInitializedBatch_t const* desc) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return answered([&] { return Broker::get().mark_initialized(domain, desc); });
}

platMstxBroker_t const* platMstxGetBroker(void) {
  static const platMstxBroker_t broker = {
      sizeof(platMstxBroker_t), platMstxAttach,           platMstxAttachFunction,    platMstxDetach,
      platMstxListTools,        platMstxRemember,         platMstxMemHeapName,       platMstxMemHeapReset,
      platMstxMemRegionsName,   platMstxMemRegionsResize, platMstxMemMarkInitialized};
  return &broker;
}

}  // extern "C"
