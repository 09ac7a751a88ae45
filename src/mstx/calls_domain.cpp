// SPDX-License-Identifier: Apache-2.0
// Domains: one handle a name, whatever each tool calls it.

#include "mstx/broker.h"
#include "mstx/log.h"

namespace plat::mstx {

using CreateDomain = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateAFunc>;

ToolsName tell_domain(const Tool& tool, const char* name, Handle domain) {
  mstxDomainHandle_t answer = nullptr;
  const bool told = tell<CreateDomain>(tool, [&](auto call) { answer = call(name); });
  if (told || CreateDomain::of(tool) == nullptr) {
    std::lock_guard lock(Broker::get().registry_lock);
    Broker::get().registry.set_name(domain, tool, answer);
  }
  return told ? ToolsName(answer) : std::nullopt;
}

}  // namespace plat::mstx

using namespace plat::mstx;

mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  if (nobody_hears_of_it()) return nullptr;
  return change(__func__, [=](ChangeSection& section) -> mstxDomainHandle_t {
    if (name == nullptr) {
      section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
      return nullptr;
    }
    section.lock.lock();
    const Handle handle = section.registry.create_domain(name);
    if (!handle) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true)) warn("{} domains live; no more are created", section.registry.domains.size());
      return nullptr;
    }
    const bool dialect = section.registry.domains.live(handle)->dialect;
    section.lock.unlock();
    const bool wanted = section.is_wanted([&](const Tool& tool) {
      const auto known = section.registry.name_of(handle, tool);
      // One that said NULL before is asked again: it may have been switched on since.
      return known.value_or(nullptr) != nullptr ? known : tell_domain(tool, name, handle);
    });
    // A dialect is known by its domain, so such a client gets one even from tools that know none.
    if (wanted || dialect) return to_client<mstxDomainHandle_t>(HandleKind::Domain, handle);
    section.lock.lock();
    section.registry.destroy_domain(handle);
    return nullptr;
  });
}

void mstxDomainDestroy(mstxDomainHandle_t domain) {
  if (nobody_listens()) return;
  change(__func__, [=](ChangeSection& section) {
    const auto where = section.where(domain);
    // Others who created it under the same name still use it.
    if (!where || !section.registry.destroy_domain(where->domain)) return;
    section.lock.unlock();
    tell_all<ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_DESTROY, mstxDomainDestroyFunc>>(
        section.tools, [&](Tool& tool, auto call) {
          if (const auto name = domain_for(tool, where->domain)) call(name);
        });
  });
}
