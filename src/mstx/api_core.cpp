// The exported marks, ranges and domains. Each: is anybody there, then the broker.

#include "mstx/api.h"

using plat::mstx::Broker;
using plat::mstx::guarded;
using plat::mstx::nobody_hears_of_it;
using plat::mstx::nobody_listens;

extern "C" {

void mstxMarkA(const char* message, aclrtStream stream) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().mark(message, stream); });
}

mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  if (nobody_listens()) return MSTX_INVALID_RANGE_ID;
  return guarded([&] { return Broker::get().range_start(message, stream); });
}

void mstxRangeEnd(mstxRangeId id) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().range_end(id); });
}

void mstxGetToolId(uint64_t* id) {
  if (id == nullptr) return;
  *id = nobody_listens() ? MSTX_TOOL_INVALID_ID : guarded([&] { return Broker::get().tool_id(); });
}

mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  if (nobody_hears_of_it()) return nullptr;
  return guarded([&] { return Broker::get().domain_create(name); });
}

void mstxDomainDestroy(mstxDomainHandle_t domain) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().domain_destroy(domain); });
}

void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().domain_mark(domain, message, stream); });
}

mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  if (nobody_listens()) return MSTX_INVALID_RANGE_ID;
  return guarded([&] { return Broker::get().domain_range_start(domain, message, stream); });
}

void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  if (nobody_listens()) return;
  guarded([&] { Broker::get().domain_range_end(domain, id); });
}

}  // extern "C"
