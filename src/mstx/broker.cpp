// SPDX-License-Identifier: Apache-2.0
#include "mstx/broker.h"

#include <pthread.h>

namespace plat::mstx {

// The registry must not be torn in the child, so forking waits for it.
Broker::Broker() {
  pthread_atfork(
      [] {
        get().registry_lock.lock();
        get().tools.before_fork();
      },
      [] {
        get().tools.after_fork(false);
        get().registry_lock.unlock();
      },
      [] {
        reopen_board();
        get().tools.after_fork(true);
        get().ranges.only_this_thread();
        get().registry_lock.unlock();
      });
}

ChangeSection::~ChangeSection() {
  if (lock.owns_lock()) lock.unlock();
  for (const platMstxNotice_t& notice : notices_)
    tell_all<ToolCall<kExt, PLAT_MSTX_FUNC_NOTICE, platMstxNoticeFunc>>(
        tools, [&](Tool&, auto call) { call(&notice); });
  this_thread().changing.leave();
}

bool ChangeSection::memory_matters() const {
  if (broker.tools.remembers()) return true;
  for (const auto& tool : tools)
    if (tool->functions->hears_memory()) return true;
  return false;
}

std::optional<Where> ChangeSection::where(mstxDomainHandle_t domain) {
  lock.lock();
  if (domain == nullptr) return Where{};
  // A domain that was destroyed still says which one is meant; the tools may have something to say about it.
  const Handle handle = from_client(HandleKind::Domain, domain);
  if (const Domain* record = registry.domains.known(handle)) return Where{handle, record->dialect};
  notice(PLAT_MSTX_NOTICE_UNKNOWN_DOMAIN, domain);
  return std::nullopt;
}

Handle ChangeSection::heap_of(mstxMemHeapHandle_t heap) {
  const Handle handle = from_client(HandleKind::Heap, heap);
  if (registry.heaps.live(handle) == nullptr) notice(PLAT_MSTX_NOTICE_UNKNOWN_HEAP, heap);
  return registry.heaps.known(handle) != nullptr ? handle : Handle{};
}

}  // namespace plat::mstx
