// The exported memory calls.

#include "mstx/api.h"

using plat::mstx::Broker;
using plat::mstx::guarded;
using plat::mstx::nobody_hears_of_it;
using plat::mstx::nobody_listens;

extern "C" {

mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, mstxMemHeapDesc_t const* desc) {
  if (nobody_hears_of_it()) return nullptr;
  return guarded([&] { return Broker::get().heap_register(domain, desc); });
}

void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().heap_unregister(domain, heap); });
}

void mstxMemRegionsRegister(mstxDomainHandle_t domain, mstxMemRegionsRegisterBatch_t const* desc) {
  if (nobody_hears_of_it()) return;
  guarded([&] { Broker::get().regions_register(domain, desc); });
}

void mstxMemRegionsUnregister(mstxDomainHandle_t domain, mstxMemRegionsUnregisterBatch_t const* desc) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().regions_unregister(domain, desc); });
}

void mstxMemPermissionsAssign(mstxDomainHandle_t domain, mstxMemPermissionsAssignBatch_t const* desc) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().permissions_assign(domain, desc); });
}

}  // extern "C"
