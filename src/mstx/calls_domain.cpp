// SPDX-License-Identifier: Apache-2.0
// Domains: one handle a name, whatever each tool calls it.

#include "mstx/log.h"
#include "mstx/sections.h"

namespace plat::mstx {

std::optional<Broker::Place> Broker::place_of(mstxDomainHandle_t domain, ChangeSection& section,
                                              const char* call) {
  if (domain == nullptr) return Place{{}, &dialect_of("")};
  const auto handle = from_client(HandleKind::Domain, domain);
  // A domain that was destroyed still says which one is meant; the tools may have something to say about it.
  if (const Domain* record = handle ? registry_.domains.known(*handle) : nullptr)
    return Place{*handle, record->dialect};
  section.notice(PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN, call, 0, domain);
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
  ChangeSection section(*this);
  if (name == nullptr) {
    section.notice(PLAT_MSTX_NOTICE_NULL_ARGUMENT, "mstxDomainCreateA", 0, uint64_t{0});
    return nullptr;
  }
  Handle handle;
  const Dialect* dialect = nullptr;
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
    const auto known = tool->domains.find(handle);
    mstxDomainHandle_t answer = static_cast<mstxDomainHandle_t>(known.value_or(nullptr));
    // One that said NULL before is asked again: it may have been switched on since.
    if (answer == nullptr) {
      const bool told = tell<&ToolSlots::domain, MSTX_API_CORE2_DOMAIN_CREATE_A, mstxDomainCreateAFunc>(
          section.thread(), *tool, [&](Tool&, auto call) { answer = call(name); });
      const bool cannot_hear =
          load<mstxFuncPointer>(tool->functions->domain[MSTX_API_CORE2_DOMAIN_CREATE_A]) == nullptr;
      if (told || cannot_hear) {
        std::lock_guard lock(registry_lock_);
        tool->domains.set(handle, answer);
      }
      asked = asked || told;
    }
    taken = taken || answer != nullptr;
  }
  // A dialect is known by its domain, so such a client gets one even from tools that know none.
  if (taken || dialect->fields_unset || (!asked && section.remembers()))
    return to_client<mstxDomainHandle_t>(HandleKind::Domain, handle);
  std::lock_guard lock(registry_lock_);
  registry_.destroy_domain(handle);
  return nullptr;
}

void Broker::domain_destroy(mstxDomainHandle_t domain) {
  ChangeSection section(*this);
  if (domain == nullptr) return;
  {
    std::lock_guard lock(registry_lock_);
    const auto place = place_of(domain, section, "mstxDomainDestroy");
    // Others who created it under the same name still use it.
    if (!place || !registry_.destroy_domain(place->domain)) return;
  }
  tell_all<&ToolSlots::domain, MSTX_API_CORE2_DOMAIN_DESTROY, mstxDomainDestroyFunc>(
      section, [&](Tool& tool, auto call) {
        if (const auto name = domain_known_to(tool, domain); name && *name != nullptr) call(*name);
      });
}

}  // namespace plat::mstx
