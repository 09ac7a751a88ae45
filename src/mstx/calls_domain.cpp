// SPDX-License-Identifier: Apache-2.0
// Domains: one handle a name, whatever each tool calls it.

#include "mstx/broker.h"
#include "mstx/log.h"

namespace plat::mstx {

using CreateDomain = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateAFunc>;
using DestroyDomain = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_DESTROY, mstxDomainDestroyFunc>;

ToolsName tell_domain(const Tool& tool, const char* name, Handle domain) {
  const ToolsName answer = tell<CreateDomain>(tool, name);
  // To one that knows no domains, what is in this one is global.
  if (answer || CreateDomain::of(tool) == nullptr)
    Broker::get().note(Broker::get().registry.domains, domain, tool, answer.value_or(nullptr));
  return answer;
}

}  // namespace plat::mstx

using namespace plat::mstx;

mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  return change(nobody_hears_of_it(), __func__, [=](ChangeSection& section) -> mstxDomainHandle_t {
    if (!section.has(name != nullptr)) return nullptr;
    section.lock.lock();
    const Handle handle = section.registry.create_domain(name);
    if (!handle) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true))
        warn("{} domains live; no more are created", section.registry.domains.kCapacity);
      return nullptr;
    }
    // A dialect is known by its domain, so such a client gets one even from tools that know none.
    const bool dialect = section.registry.domains.live(handle)->dialect;
    const bool wanted = section.is_wanted([&](const Tool& tool) {
      const ToolsName known = section.registry.name_of(handle, tool);
      // One that said NULL before is asked again: it may have been switched on since.
      return known.value_or(nullptr) != nullptr ? known : tell_domain(tool, name, handle);
    });
    if (wanted || dialect) return to_client<mstxDomainHandle_t>(handle);
    section.lock.lock();
    section.registry.destroy_domain(handle);
    return nullptr;
  });
}

void mstxDomainDestroy(mstxDomainHandle_t domain) {
  change(nobody_listens(), __func__, [=](ChangeSection& section) {
    // Others who created it under the same name still use it.
    if (!section.open(domain) || !section.registry.destroy_domain(section.domain)) return;
    section.tell_each([](const Tool& tool, mstxDomainHandle_t its_domain) {
      if (its_domain != nullptr) tell<DestroyDomain>(tool, its_domain);
    });
  });
}
