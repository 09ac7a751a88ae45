// SPDX-License-Identifier: Apache-2.0
// The exported calls. Each: is anybody there, then the broker. Out of memory a call comes to nothing, as if
// nobody had listened; our own have a code for it.

#include <new>
#include <type_traits>

#include "mstx/broker.h"

using plat::mstx::Broker;
using plat::mstx::nobody_hears_of_it;
using plat::mstx::nobody_listens;
using plat::mstx::Tools;

namespace {

template <auto Call, class... Args>
auto pass(bool in_vain, Args... args) -> std::invoke_result_t<decltype(Call), Broker&, Args...> {
  using Answer = std::invoke_result_t<decltype(Call), Broker&, Args...>;
  if (in_vain) return Answer();
  try {
    return (Broker::get().*Call)(args...);
  } catch (const std::bad_alloc&) {
    return Answer();
  }
}

template <class Call>
int answered(Call&& call) {
  try {
    return call(Broker::get());
  } catch (const std::bad_alloc&) {
    return PLAT_MSTX_NO_MEMORY;
  }
}

// Tools come in the order of the environment, so that is looked at before anything is attached by hand.
template <auto Call, class... Args>
int ask_tools(Args... args) {
  nobody_listens();
  return answered([&](Broker& broker) { return (broker.tools.*Call)(args...); });
}

template <auto Call, class... Args>
int ask(Args... args) {
  if (nobody_listens()) return PLAT_MSTX_NO_LISTENER;
  return answered([&](Broker& broker) { return (broker.*Call)(args...); });
}

}  // namespace

extern "C" {

void mstxMarkA(const char* message, aclrtStream stream) {
  pass<&Broker::mark>(nobody_listens(), message, stream);
}

mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  return pass<&Broker::range_start>(nobody_listens(), message, stream);
}

void mstxRangeEnd(mstxRangeId id) { pass<&Broker::range_end>(nobody_listens(), id); }

void mstxGetToolId(uint64_t* id) {
  if (id != nullptr) *id = nobody_listens() ? MSTX_TOOL_INVALID_ID : pass<&Broker::tool_id>(false);
}

mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  return pass<&Broker::domain_create>(nobody_hears_of_it(), name);
}

void mstxDomainDestroy(mstxDomainHandle_t domain) { pass<&Broker::domain_destroy>(nobody_listens(), domain); }

void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  pass<&Broker::domain_mark>(nobody_listens(), domain, message, stream);
}

mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  return pass<&Broker::domain_range_start>(nobody_listens(), domain, message, stream);
}

void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  pass<&Broker::domain_range_end>(nobody_listens(), domain, id);
}

mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, mstxMemHeapDesc_t const* desc) {
  return pass<&Broker::heap_register>(nobody_hears_of_it(), domain, desc);
}

void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  pass<&Broker::heap_unregister>(nobody_listens(), domain, heap);
}

void mstxMemRegionsRegister(mstxDomainHandle_t domain, mstxMemRegionsRegisterBatch_t const* desc) {
  pass<&Broker::regions_register>(nobody_hears_of_it(), domain, desc);
}

void mstxMemRegionsUnregister(mstxDomainHandle_t domain, mstxMemRegionsUnregisterBatch_t const* desc) {
  pass<&Broker::regions_unregister>(nobody_listens(), domain, desc);
}

void mstxMemPermissionsAssign(mstxDomainHandle_t domain, mstxMemPermissionsAssignBatch_t const* desc) {
  pass<&Broker::permissions_assign>(nobody_listens(), domain, desc);
}

int platMstxAttach(const char* path, platMstxToolId_t* out_id) {
  return ask_tools<&Tools::attach_path>(path, out_id);
}

int platMstxAttachFunction(mstxInitInjectionFunc init, const char* name, platMstxToolId_t* out_id) {
  void* const no_library = nullptr;
  return ask_tools<&Tools::attach>(init, name, no_library, out_id);
}

int platMstxDetach(platMstxToolId_t id) { return ask_tools<&Tools::detach>(id); }

int platMstxListTools(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* out_count) {
  return ask_tools<&Tools::list>(tools, capacity, out_count);
}

int platMstxRemember(int on) { return ask_tools<&Tools::remember>(on != 0); }

int platMstxMemHeapName(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name) {
  return ask<&Broker::heap_name>(domain, heap, name);
}

int platMstxMemHeapReset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  return ask<&Broker::heap_reset>(domain, heap);
}

int platMstxMemRegionsName(mstxDomainHandle_t domain, platMstxMemRegionsNameBatch_t const* desc) {
  return ask<&Broker::regions_name>(domain, desc);
}

int platMstxMemRegionsResize(mstxDomainHandle_t domain, platMstxMemRegionsResizeBatch_t const* desc) {
  return ask<&Broker::regions_resize>(domain, desc);
}

int platMstxMemMarkInitialized(mstxDomainHandle_t domain, platMstxMemInitializedBatch_t const* desc) {
  return ask<&Broker::mark_initialized>(domain, desc);
}

platMstxBroker_t const* platMstxGetBroker(void) {
  static const platMstxBroker_t broker = {
      sizeof(platMstxBroker_t), platMstxAttach,           platMstxAttachFunction,    platMstxDetach,
      platMstxListTools,        platMstxRemember,         platMstxMemHeapName,       platMstxMemHeapReset,
      platMstxMemRegionsName,   platMstxMemRegionsResize, platMstxMemMarkInitialized};
  return &broker;
}

}  // extern "C"
