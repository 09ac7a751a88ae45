// SPDX-License-Identifier: Apache-2.0
// Domains: one handle a name, whatever each tool calls it.

#include "mstx/broker.h"
#include "mstx/log.h"
#include "mstx/sections.h"

namespace plat::mstx {

using CreateDomain = InDomain<MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateAFunc>;

std::optional<Broker::DomainMeaning> Broker::meaning_of(mstxDomainHandle_t domain, ChangeSection& section) {
  if (domain == nullptr) return DomainMeaning{};
  const auto handle = from_client(HandleKind::Domain, domain);
  // A domain that was destroyed still says which one is meant; the tools may have something to say about it.
  if (const Domain* record = handle ? registry_.domains.known(*handle) : nullptr)
    return DomainMeaning{*handle, record->dialect};
  section.notice(PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN, domain);
  return std::nullopt;
}

std::optional<mstxDomainHandle_t> Broker::domain_known_to(const Tool& tool, mstxDomainHandle_t domain) {
  if (domain == nullptr) return nullptr;
  const auto handle = from_client(HandleKind::Domain, domain);
  const auto name = handle ? tool.domains.find(*handle) : std::nullopt;
  if (!name) return std::nullopt;
  return static_cast<mstxDomainHandle_t>(*name);
}

mstxDomainHandle_t Broker::domain_create(const char* name) {
  ChangeSection section(tools, "mstxDomainCreateA");
  if (name == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT);
    return nullptr;
  }
  Handle handle;
  bool dialect = false;
  {
    std::lock_guard lock(registry_lock_);
    handle = registry_.create_domain(name);
    dialect = registry_.domains.live(handle)->dialect;
    if (handle.index >= DomainTable::kMax) {
      registry_.destroy_domain(handle);
      static std::atomic<bool> said{false};
      if (!said.exchange(true)) warn("more than {} domains; no more are created", DomainTable::kMax);
      return nullptr;
    }
  }
  bool asked = false;
  bool taken = false;
  for (Tool* tool : section.tools()) {
    mstxDomainHandle_t answer = domain_for(*tool, handle);
    // One that said NULL before is asked again: it may have been switched on since.
    if (answer == nullptr) {
      asked = tell_domain(*tool, name, handle, answer) || asked;
    }
    taken = taken || answer != nullptr;
  }
  // A dialect is known by its domain, so such a client gets one even from tools that know none.
  if (taken || dialect || (!asked && section.remembers()))
    return to_client<mstxDomainHandle_t>(HandleKind::Domain, handle);
  std::lock_guard lock(registry_lock_);
  registry_.destroy_domain(handle);
  return nullptr;
}

void Broker::domain_destroy(mstxDomainHandle_t domain) {
  ChangeSection section(tools, "mstxDomainDestroy");
  if (domain == nullptr) return;
  {
    std::lock_guard lock(registry_lock_);
    const auto where = meaning_of(domain, section);
    // Others who created it under the same name still use it.
    if (!where || !registry_.destroy_domain(where->domain)) return;
  }
  tell_all<InDomain<MSTX_API_CORE2_DOMAIN_DESTROY, mstxDomainDestroyFunc>>(
      section, [&](Tool& tool, auto call) {
        if (const auto name = domain_known_to(tool, domain); name && *name != nullptr) call(*name);
      });
}

bool Broker::tell_domain(Tool& tool, const char* name, Handle domain, mstxDomainHandle_t& answer) {
  const bool told = tell<CreateDomain>(this_thread(), tool, [&](auto call) { answer = call(name); });
  if (told || CreateDomain::of(tool) == nullptr) {
    std::lock_guard lock(registry_lock_);
    tool.domains.set(domain, answer);
  }
  return told;
}

}  // namespace plat::mstx
